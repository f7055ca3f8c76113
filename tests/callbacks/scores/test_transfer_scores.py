"""Transfer scores of a trained objective."""

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from jaxtyping import Int, UInt8
from lightning.pytorch.loggers import CSVLogger
from torch import Tensor

from dislab import plots, plugins, runs
from dislab.base import DataModule, Dataset, Objective
from dislab.callbacks import TransferScores
from dislab.datamodules import SingleData
from dislab.datasets import RobotFinger
from dislab.errors import InputError
from dislab.factors import UNLABELLED, Factor, FactorSpace, Indices
from dislab.predictors import Ridge
from dislab.transfer import Domain, Scenario, load_scenario, transfer_scores
from dislab.transfer.images import Sizes
from dislab.transfer.shifts import shifts_of

MakeTrainer = Callable[..., pl.Trainer]

INSIDE = "train: {x: [0, 1]}\ntest: {x: [2, 3]}\nshifted: [x]\n"
ELSEWHERE = "train: {}\ntest: {}\nencoder: out\ndataset: Darker\n"


class Darker(Dataset):
    """The same blocks in other brightnesses, which lie off the grid, and in another order."""

    def __init__(self, side: int = 16) -> None:
        self.side = side

    @property
    def factors(self) -> FactorSpace:
        return FactorSpace((Factor("y", (0.0, 1.0, 2.0)), Factor("brightness", (0.5,))))

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (1, self.side, self.side)

    def prepare(self) -> None:
        pass

    def tables(self) -> dict[str, Tensor]:
        image = torch.zeros(3, 1, self.side, self.side, dtype=torch.uint8)
        for row in range(3):
            image[row, 0, 2 * row : 2 * row + 2, :2] = 60
        return {"image": image}

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        return tables["image"][index]

    def provenance(self) -> dict[str, str]:
        return {"source": "darker"}

    def values(self, index: Indices) -> Any:
        return np.stack([index + 0.25, np.full(len(index), 0.4)], axis=1)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> type[Dataset]:
    """Makes `Darker` one of the declared data sets."""
    load = plugins.load

    def found(group: str, name: str) -> type:
        return Darker if name == "Darker" else load(group, name)

    monkeypatch.setattr(plugins, "load", found)
    return Darker


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], str]:
    """Writes a scenario and returns its path."""

    def written(name: str, text: str) -> str:
        path = tmp_path / f"{name}.yaml"
        path.write_text(text)
        return str(path)

    return written


Write = Callable[[str, str], str]


def scored(scenarios: list[str], **settings: Any) -> TransferScores:
    given: dict[str, Any] = {"predictors": {"r": Ridge}, "labels": 12, "tested": 8, "batch_size": 5}
    return TransferScores(scenarios, **(given | settings))


@pytest.mark.parametrize("stage", ["validate", "test"])
def test_the_scores_are_those_of_the_codes(
    stage: str,
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    write: Write,
) -> None:
    path = write("near", INSIDE)
    callback = scored([path], predictors={"r": functools.partial(Ridge, penalty=0.5)})
    logger = CSVLogger(tmp_path / "run", name="", version="")
    asked = trainer(callbacks=[callback], logger=logger)
    getattr(asked, stage)(objective, datamodule=data, verbose=False)
    record = runs.read_scores(tmp_path / "run")[f"{stage}_transfer"]
    with torch.no_grad():
        codes = objective.codes(data.images(torch.arange(32)))
    expected = transfer_scores(
        codes,
        data.factors.positions(np.arange(32)),
        data.factors,
        [load_scenario(path)],
        {"r": functools.partial(Ridge, penalty=0.5)},
        12,
        8,
    )
    assert record["scores"] == pytest.approx(expected.values, abs=1e-6)
    assert record["scenarios"]["near"]["images"]["available"] == {"train": 16, "test": 16}
    assert record["predictors"]["r"]["init_args"] == {"penalty": 0.5}
    assert record["data"]["provenance"] == {"source": "blocks", "version": "1"}
    assert callback.found is not None
    text = (tmp_path / "run" / "metrics.csv").read_text()
    assert "transfer/near/r/in_distribution" in text


def test_each_image_is_encoded_once_for_all_scenarios(
    trainer: MakeTrainer, data: DataModule, objective: Objective, write: Write
) -> None:
    paths = [write(name, INSIDE) for name in ("one", "two")]
    callback = scored(paths, reconstructions=0)
    trainer(callbacks=[callback], limit_test_batches=1).test(
        objective, datamodule=data, verbose=False
    )
    # the test loop has a batch of eight and another four; 32 states are encoded, five at a time
    asked = [len(numbers) for numbers in data.asked[1:]]  # type: ignore[attr-defined]
    assert asked == [5, 5, 5, 5, 4]
    seen = [number for numbers in data.asked[1:] for number in numbers]  # type: ignore[attr-defined]
    assert len(seen) == len(set(seen)) == 24


def test_pictures_show_both_distributions(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[Any] = []
    grid = plots.image_grid

    def noted(images: Any, *labels: Any, **settings: Any) -> Any:
        drawn.append(torch.from_numpy(images))
        return grid(images, *labels, **settings)

    monkeypatch.setattr(plots, "image_grid", noted)
    callback = scored([write("near", INSIDE)], reconstructions=3)
    trainer(callbacks=[callback]).test(objective, datamodule=data, verbose=False)
    assert (tmp_path / "run" / "images" / "transfer_near.png").read_bytes()[1:4] == b"PNG"
    ((own, own_again, shifted, shifted_again),) = drawn
    assert own.shape == (3, 1, 8, 8)
    # the predictors learn from blocks in the left half, and those in the right are shifted
    assert not own[..., 4:].any()
    assert not shifted[..., :4].any()
    with torch.no_grad():
        torch.testing.assert_close(own_again, objective.reconstruct(own))
        torch.testing.assert_close(shifted_again, objective.reconstruct(shifted))


def test_scenarios_are_prepared_once(
    trainer: Callable[..., pl.Trainer],
    objective: Objective,
    data: DataModule,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prepared: list[DataModule] = []

    def counted(data: DataModule, scenarios: Any, sizes: Sizes) -> Any:
        prepared.append(data)
        return shifts_of(data, scenarios, sizes)

    monkeypatch.setattr("dislab.callbacks.scores.transfer_scores.shifts_of", counted)
    callback = scored([write("near", INSIDE)])
    trainer(callbacks=[callback]).test(objective, datamodule=data, verbose=False)
    assert callback.found is not None
    assert prepared == [data]


def test_a_method_without_decoder_gets_scores_and_no_picture(
    tmp_path: Path, trainer: MakeTrainer, data: DataModule, without_decoder: Objective, write: Write
) -> None:
    trainer(callbacks=[scored([write("near", INSIDE)])]).test(
        without_decoder, datamodule=data, verbose=False
    )
    assert "near/r" in runs.read_scores(tmp_path / "run")["test_transfer"]["scores"]
    assert not (tmp_path / "run" / "images").exists()


def test_chance_and_other_codes_stand_beside_the_errors(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    write: Write,
    capsys: pytest.CaptureFixture[str],
) -> None:
    callback = scored([write("near", INSIDE)], baselines=["untrained", "pixels", "pca"])
    trainer(callbacks=[callback]).test(objective, datamodule=data, verbose=False)
    record = runs.read_scores(tmp_path / "run")["test_transfer"]
    names = ["r", "chance", "r_untrained", "r_pixels", "r_pca"]
    assert list(record["parts"]["near"]) == names
    errors = [record["scores"][f"near/{name}"] for name in names]
    own = [record["parts"]["near"][name]["error"]["x"] for name in names]
    assert len(set(own)) == 5
    assert set(record["predictors"]) == {"r"}
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    printed = {row[0]: row[1] for row in rows if row and row[0].startswith("near/")}
    assert printed == {
        f"near/{name}": f"{one:.4f}" for name, one in zip(names, errors, strict=True)
    }
    states = np.arange(32)
    pixels = data.images(torch.from_numpy(states)).flatten(1).numpy()
    path = str(tmp_path / "near.yaml")
    given = data.factors.positions(states), data.factors
    expected = transfer_scores(pixels, *given, [path], {"r": Ridge}, labels=12, tested=8)
    assert errors[3] == pytest.approx(expected.values["near/r"], rel=1e-3)
    assert errors[1] == pytest.approx(expected.values["near/chance"])


def test_a_method_without_codes_is_left_alone(
    tmp_path: Path, trainer: MakeTrainer, data: DataModule, without_codes: Objective, write: Write
) -> None:
    trainer(callbacks=[scored([write("near", INSIDE)])]).test(
        without_codes, datamodule=data, verbose=False
    )
    assert not (tmp_path / "run" / "scores.json").exists()


def test_without_scenarios_and_in_a_rehearsal_nothing_is_written(
    tmp_path: Path, trainer: MakeTrainer, data: DataModule, objective: Objective, write: Write
) -> None:
    trainer(callbacks=[TransferScores()]).test(objective, datamodule=data, verbose=False)
    rehearsal = trainer(callbacks=[scored([write("near", INSIDE)])], fast_dev_run=True)
    rehearsal.fit(objective, datamodule=data)
    rehearsal.test(objective, datamodule=data, verbose=False)
    assert not (tmp_path / "run" / "scores.json").exists()


def test_training_scores_nothing(
    tmp_path: Path, trainer: MakeTrainer, data: DataModule, objective: Objective, write: Write
) -> None:
    trainer(callbacks=[scored([write("near", INSIDE)])]).fit(objective, datamodule=data)
    assert not (tmp_path / "run" / "scores.json").exists()


def test_another_data_set_has_the_runs_side_and_its_exact_values(
    tmp_path: Path,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    write: Write,
    elsewhere: type[Dataset],
) -> None:
    path = write("far", ELSEWHERE)
    trainer(callbacks=[scored([path], tested=3)]).test(objective, datamodule=data, verbose=False)
    record = runs.read_scores(tmp_path / "run")["test_transfer"]
    assert record["scenarios"]["far"]["absent"] == ["x"]
    with torch.no_grad():
        codes = objective.codes(data.images(torch.arange(32)))
        dark = Darker(8)
        there = objective.codes(dark.images(torch.arange(3)).float() / 255)
    other = Domain(
        there, np.array([[0, 0], [1, 0], [2, 0]]), dark.factors, dark.values(np.arange(3))
    )
    expected = transfer_scores(
        codes,
        data.factors.positions(np.arange(32)),
        data.factors,
        [Scenario("far", {}, {}, "out", dataset="Darker")],
        {"r": Ridge},
        12,
        3,
        others={"far": other},
    )
    assert record["scores"] == pytest.approx(expected.values, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train: {x: 0}\ntest: {x: [0, 1]}\nencoder: in", "near: train and test overlap in 8 im"),
        ("train: {x: 9}\ntest: {}", "scenario near: factor x has no value 9"),
        ("train: {z: 9}\ntest: {}", "scenario near: no factor is named 'z'"),
        (INSIDE + "encoder: out", "is for an encoder that never saw the shifted values, and this"),
        (ELSEWHERE.replace("Darker", "Drakness"), "none of the datasets is named 'Drakness'"),
        (
            ELSEWHERE.replace("Darker", "{class_path: Darker, init_args: {side: 16}}"),
            "images of Darker are 1×16×16, and those of the run 1×8×8; give the run's side in",
        ),
        (
            ELSEWHERE.replace("Darker", "{class_path: Darker, init_args: {sied: 8}}"),
            "scenario near: Darker cannot be made with {'sied': 8}: ",
        ),
        (ELSEWHERE + "shifted: [z]", "no factor is named 'z'"),
    ],
)
def test_what_does_not_suit_ends_before_training(
    text: str,
    message: str,
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    write: Write,
    elsewhere: type[Dataset],
) -> None:
    steps = trainer(callbacks=[scored([write("near", text)])])
    with pytest.raises(InputError) as error:
        steps.fit(objective, datamodule=data)
    assert message in str(error.value)
    assert steps.global_step == 0


def test_a_predictor_that_cannot_be_made_ends_before_training(
    trainer: MakeTrainer, data: DataModule, objective: Objective, write: Write
) -> None:
    predictors = {"r": functools.partial(Ridge, penalty=-1.0)}
    steps = trainer(callbacks=[scored([write("near", INSIDE)], predictors=predictors)])
    with pytest.raises(InputError, match="penalty is -1"):
        steps.fit(objective, datamodule=data)
    assert steps.global_step == 0


def test_an_encoder_of_the_other_data_set_is_refused(
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    write: Write,
    elsewhere: type[Dataset],
) -> None:
    data.dataset = Darker(8)
    with pytest.raises(InputError, match="tests on Darker, which this encoder was trained on"):
        trainer(callbacks=[scored([write("near", ELSEWHERE)])]).test(objective, datamodule=data)


def test_images_without_factors_are_refused(
    trainer: MakeTrainer,
    data: DataModule,
    objective: Objective,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bare = FactorSpace((Factor(UNLABELLED, tuple(map(float, range(32)))),))
    monkeypatch.setattr(type(data.dataset), "factors", property(lambda self: bare))
    with pytest.raises(InputError, match="Blocks has none; give it a table of factors"):
        trainer(callbacks=[scored([write("near", INSIDE)])]).test(objective, datamodule=data)


def test_bad_settings_are_messages() -> None:
    for settings, message in (
        ({"labels": 1}, "labels is 1"),
        ({"tested": 0}, "tested is 0"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"reconstructions": -1}, "reconstructions is -1"),
        ({"scenarios": ["finger_ood1"]}, "no scenario is named 'finger_ood1'"),
    ):
        with pytest.raises(InputError, match=message):
            scored(**({"scenarios": []} | settings))


def short_of_states(name: str) -> Scenario:
    """A shipped scenario with few images, as its own take minutes to draw."""
    one = load_scenario(name)
    few = {**one.settings, "states": 300} if "states" in one.settings else one.settings
    return replace(one, settings=few)


@pytest.mark.slow
def test_the_shipped_scenarios_suit_the_finger() -> None:
    data = SingleData(RobotFinger(side=128, states=1000), validation=0.0, test=0.1)
    scenarios = [short_of_states(f"finger_{kind}") for kind in ("ood1_a", "ood2_a", "ood2_b")]
    shifts = shifts_of(data, scenarios, Sizes(500, 100, 0))
    assert {other.image_shape for other in shifts.others.values()} == {(3, 128, 128)}
    assert [len(one.test) for one in shifts.images] == [100, 100, 100]
    hues = shifts.others["finger_ood2_a"].factors.positions(shifts.images[1].test)[:, 0]
    assert set(hues.tolist()) == {1, 2, 3, 8}


@pytest.mark.slow
def test_an_encoder_that_saw_the_held_out_hues_is_no_ood2() -> None:
    every = RobotFinger(states=2000, hues="all")
    data = SingleData(every, validation=0.0, test=0.1)
    scenario = short_of_states("finger_ood2_a")
    with pytest.raises(InputError, match="was trained on color 30, 60, 90, 240; train one with"):
        shifts_of(data, [scenario], Sizes(500, 100, 0))
    held = SingleData(every, validation=0.0, hold_out={"color": [30, 60, 90, 240]})
    assert shifts_of(held, [scenario], Sizes(500, 100, 0))
