import re
from collections.abc import Callable
from pathlib import Path

import lightning.pytorch as pl
import matplotlib.image
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from dislab.base import DataModule, Objective
from dislab.callbacks import Traversals
from dislab.errors import InputError
from dislab.functional.losses import kl_per_latent
from dislab.functional.random import host_generator
from dislab.plots.image_grid import ImageGrid

MakeTrainer = Callable[..., pl.Trainer]


class Grid:
    """The last grid that the callback drew."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = ImageGrid.figure

        def figure(grid: ImageGrid) -> Figure:
            self.images, self.rows, self.columns, self.blocks, self.faded = (
                grid.images,
                grid.row_labels,
                grid.column_labels,
                grid.blocks,
                grid.faded,
            )
            return real(grid)

        monkeypatch.setattr(ImageGrid, "figure", figure)


@pytest.fixture
def informed(objective: Objective) -> Objective:
    """Latent 1 reads x with a small KL, latent 2 reads y with a large one, latent 0 nothing."""
    column = torch.arange(64) % 8 // 2
    row = torch.arange(64) // 16
    weight = torch.zeros(6, 64)
    weight[1], weight[2] = (column - 1.5) / 4, (row - 1.5) / 3
    objective.encoder.weight.data, objective.encoder.bias.data = weight, torch.zeros(6)  # type: ignore[union-attr]
    return objective


def test_latents_are_ordered_and_labelled_by_what_they_carry(
    trainer: MakeTrainer,
    data: DataModule,
    informed: Objective,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grid = Grid(monkeypatch)
    runner = trainer(callbacks=[Traversals(images=2, steps=5, split="all")])
    runner.validate(informed, datamodule=data, verbose=False)
    with torch.no_grad():
        kl = kl_per_latent(*informed.encode(data.images(torch.arange(32)))).mean(0).tolist()
    assert kl[2] > kl[1] > kl[0] == 0
    assert [label.split("  ")[:2] for label in grid.rows] == [
        [f"z{latent}", f"KL {kl[latent]:.2f} nats"] for latent in (2, 1, 0)
    ]
    factors = [label.split("  ")[2:] for label in grid.rows]
    assert re.fullmatch(
        r"partly y, partly brightness \d\.\d\d, \d\.\d\d nats in the mean", factors[0][0]
    )
    assert factors[2] == ["dead"]
    assert grid.faded == [False, False, True]
    assert grid.columns == ["−2σ", "−1σ", "0", "+1σ", "+2σ"] * 2
    assert grid.blocks == 2


@pytest.mark.parametrize(
    ("share", "label", "greyed"),
    [(1.0, "x", False), (0.3, None, False), (0.05, "dead", True)],
    ids=["active", "near-dead", "dead"],
)
def test_a_latent_that_hardly_departs_from_the_prior_names_no_factor(
    share: float,
    label: str | None,
    greyed: bool,
    trainer: MakeTrainer,
    data: DataModule,
    informed: Objective,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    informed.encoder.weight.data[1] *= share  # type: ignore[union-attr,operator,index]
    grid = Grid(monkeypatch)
    runner = trainer(callbacks=[Traversals(split="all")])
    runner.validate(informed, datamodule=data, verbose=False)
    row = [text.split("  ")[0] for text in grid.rows].index("z1")
    further = grid.rows[row].split("  ")[2:]
    assert [text.split()[0] for text in further] == ([] if label is None else [label])
    assert grid.faded[row] == greyed


def test_absolute_positions_are_the_same_for_every_image(
    trainer: MakeTrainer,
    data: DataModule,
    informed: Objective,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grid = Grid(monkeypatch)
    chosen = Traversals(images=2, steps=5, positions="absolute", split="all", latents=1)
    trainer(callbacks=[chosen]).test(informed, datamodule=data, verbose=False)
    assert grid.columns == ["−3", "−1.5", "0", "1.5", "3"] * 2
    states = host_generator(0).choice(np.arange(32), 32, replace=False)[:2]
    with torch.no_grad():
        codes = informed.encode(data.images(torch.from_numpy(states))).mean
        for image in range(2):
            for step, place in enumerate((-3.0, -1.5, 0.0, 1.5, 3.0)):
                z = codes[image].clone()
                z[2] = place
                found = grid.images[0, image * 5 + step]
                np.testing.assert_allclose(found, informed.decode(z[None])[0], atol=1e-6)


def test_absolute_positions_of_codes_lie_around_their_mean(
    trainer: MakeTrainer,
    data: DataModule,
    codes_and_decoder: Objective,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = codes_and_decoder
    module.encoder.weight.data[1] = 0  # type: ignore[union-attr,operator]  # stands still
    grid = Grid(monkeypatch)
    chosen = Traversals(images=1, steps=3, span=(-1.0, 1.0), positions="absolute", split="all")
    trainer(callbacks=[chosen]).test(module, datamodule=data, verbose=False)
    with torch.no_grad():
        codes = module.codes(data.images(torch.arange(32)))
        first = host_generator(0).choice(np.arange(32), 32, replace=False)[:1]
        for step in range(3):
            z = module.codes(data.images(torch.from_numpy(first)))
            z[0, 0] = codes[:, 0].mean() + (step - 1) * codes[:, 0].std(correction=0)
            np.testing.assert_allclose(grid.images[0, step], module.decode(z)[0], atol=1e-5)
    assert grid.faded == [False, True]
    assert grid.rows[1].endswith("dead")


def test_a_row_moves_one_latent_around_the_code_of_the_image(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    informed: Objective,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grid = Grid(monkeypatch)
    chosen = Traversals(images=2, steps=3, span=(-1.5, 1.5), split="all", seed=4, latents=2)
    trainer(callbacks=[chosen]).test(informed, datamodule=data, verbose=False)
    states = host_generator(4).choice(np.arange(32), 32, replace=False)[:2]
    with torch.no_grad():
        codes = informed.encode(data.images(torch.from_numpy(states))).mean
        for row, latent in enumerate((2, 1)):
            for image in range(2):
                for step, shift in enumerate((-1.5, 0.0, 1.5)):
                    z = codes[image].clone()
                    z[latent] += shift
                    expected = informed.decode(z[None])[0]
                    found = grid.images[row, image * 3 + step]
                    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert grid.images.shape == (2, 6, 1, 8, 8)
    drawn = matplotlib.image.imread(tmp_path / "run" / "images" / "traversals.png")
    cell = drawn[-12 - 64 : -12, -12 - 64 : -12, 0][4::8, 4::8]
    np.testing.assert_allclose(cell, grid.images[-1, -1, 0], atol=0.5 / 255 + 1e-6)


def test_codes_without_posterior_move_by_their_own_spread(
    trainer: MakeTrainer,
    data: DataModule,
    codes_and_decoder: Objective,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grid, module = Grid(monkeypatch), codes_and_decoder
    chosen = Traversals(images=1, steps=3, split="all")
    trainer(callbacks=[chosen]).test(module, datamodule=data, verbose=False)
    states = host_generator(0).choice(np.arange(32), 32, replace=False)
    with torch.no_grad():
        codes = module.codes(data.images(torch.from_numpy(states)))
        spread = codes.std(0, correction=0)
        order = spread.argsort(descending=True).tolist()
        for row, latent in enumerate(order):
            assert grid.rows[row].startswith(f"z{latent}  std {spread[latent]:.2g}")
            for step in range(3):
                z = codes[0].clone()
                z[latent] += (step - 1) * 2 * spread[latent]
                found = grid.images[row, step]
                np.testing.assert_allclose(found, module.decode(z[None])[0], atol=1e-5)
    assert grid.columns == ["−2σ", "0", "+2σ"]


def test_bounded_codes_take_their_values(
    trainer: MakeTrainer,
    data: DataModule,
    codes_and_decoder: Objective,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grid, module = Grid(monkeypatch), codes_and_decoder

    def values(module: Objective, steps: int) -> list[torch.Tensor]:
        return [torch.arange(5.0), torch.linspace(-1, 1, steps)]

    monkeypatch.setattr(type(module), "code_values", values, raising=False)
    trainer(callbacks=[Traversals(images=2, steps=3, split="all")]).test(
        module, datamodule=data, verbose=False
    )
    states = host_generator(0).choice(np.arange(32), 32, replace=False)[:2]
    with torch.no_grad():
        codes = module.codes(data.images(torch.from_numpy(states)))
        for image in range(2):
            for step in range(5):
                first, second = codes[image].clone(), codes[image].clone()
                first[0], second[1] = step, -1 + step / 2
                for row, z in enumerate((first, second)):
                    found = grid.images[row, image * 5 + step]
                    np.testing.assert_allclose(found, module.decode(z[None])[0], atol=1e-6)
    assert [row.split("  ")[:2] for row in grid.rows] == [["c0", "0 … 4"], ["c1", "−1 … 1"]]
    assert list(grid.columns) == []


def test_a_row_of_fewer_values_ends_in_white(
    trainer: MakeTrainer,
    data: DataModule,
    codes_and_decoder: Objective,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grid = Grid(monkeypatch)

    def values(module: Objective, steps: int) -> list[torch.Tensor]:
        return [torch.arange(2.0), torch.linspace(-1, 1, steps)]

    monkeypatch.setattr(type(codes_and_decoder), "code_values", values, raising=False)
    trainer(callbacks=[Traversals(images=1, steps=3)]).test(
        codes_and_decoder, datamodule=data, verbose=False
    )
    assert grid.images.shape[:2] == (2, 3)
    assert (grid.images[0, 2] == 1).all()
    assert (grid.images[0, :2] < 1).all()


def test_training_keeps_one_file_a_validation(
    tmp_path: Path, trainer: MakeTrainer, data: DataModule, objective: Objective
) -> None:
    runner = trainer(callbacks=[Traversals(points=8)], max_steps=4, val_check_interval=2)
    runner.fit(objective, datamodule=data)
    names = sorted(path.name for path in (tmp_path / "run" / "images").iterdir())
    assert names == ["traversals.png", "traversals_0000002.png", "traversals_0000004.png"]


def test_a_model_that_fell_apart_is_drawn_without_an_error(
    trainer: MakeTrainer,
    data: DataModule,
    informed: Objective,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    informed.encoder.bias.data[1] = float("nan")  # type: ignore[union-attr,operator]
    grid = Grid(monkeypatch)
    trainer(callbacks=[Traversals(split="all")]).validate(informed, datamodule=data, verbose=False)
    assert grid.rows[0].split("  ")[1] == "KL nan nats"
    assert np.isnan(grid.images).all()


def test_a_method_without_decoder_is_left_alone(
    tmp_path: Path, trainer: MakeTrainer, data: DataModule, without_decoder: Objective
) -> None:
    trainer(callbacks=[Traversals()]).test(without_decoder, datamodule=data, verbose=False)
    assert not list(tmp_path.rglob("*.png"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"images": 0}, "images is 0"),
        ({"steps": 1}, "steps is 1"),
        ({"latents": 0}, "latents is 0"),
        ({"points": 0}, "points is 0"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"span": (1.0, 1.0)}, r"span is \(1.0, 1.0\)"),
        ({"span": (0.0, float("inf"))}, "finite"),
        ({"positions": "around"}, "positions"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Traversals(**settings)  # type: ignore[arg-type]
