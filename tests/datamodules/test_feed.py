"""The features that all data modules share: workers, transforms, correlations, empty splits."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jsonargparse
import lightning.pytorch as pl
import numpy as np
import pytest
import torch
import yaml
from tests import cases
from torch import Tensor, nn
from torch.nn import functional as F

from dislab.base import DataModule, Dataset, ImageBatch, fields_of
from dislab.base.dataset import fractions
from dislab.datamodules import CompositionData, PairedData, SingleData, SymbolData, TransitionData
from dislab.datamodules._state_groups import Sampler, StateGroups, groups, ranks
from dislab.datasets import ArrayDataset
from dislab.errors import InputError
from dislab.plans.gathering import transform, transformed_shape
from dislab.plugins import available, load_all

WORLD = "dislab.plans.planned_data.world"
"""The function that counts the processes."""

Batches = Callable[..., list[Any]]

MODULES = cases.datamodules()


def parts(batches: list[Any]) -> list[list[Any]]:
    return [[part.tolist() for part in fields_of(batch).values()] for batch in batches]


@pytest.mark.slow
@pytest.mark.parametrize("build", MODULES)
@pytest.mark.parametrize("which", ["tiny", "partial_set"])
def test_workers_and_residency_change_nothing(
    build: Any, which: str, batches: Batches, request: pytest.FixtureRequest
) -> None:
    dataset = request.getfixturevalue(which)
    settings: dict[str, Any] = {"batch_size": 8, "validation": 0.3, "test": 0.0}
    whole = parts(batches(build(dataset, **settings)))
    assert parts(batches(build(dataset, num_workers=2, **settings))) == whole
    device = build(dataset, residency="device", **settings)
    device._gathering.late = True  # what setup does under a trainer
    assert parts(batches(device)) == whole


@pytest.mark.slow
@pytest.mark.parametrize("build", MODULES)
@pytest.mark.parametrize("num_workers", [0, 2])
def test_resumes_in_the_middle_of_an_epoch(
    build: Any, num_workers: int, tiny: Dataset, batches: Batches
) -> None:
    make = partial(build, tiny, batch_size=8, steps_per_epoch=7, num_workers=num_workers)
    whole = parts(batches(make()))
    stopped = make()
    first = parts(batches(stopped, count=3))
    resumed = make()
    torch.manual_seed(99)
    resumed.setup("fit")
    resumed.load_state_dict(stopped.state_dict())
    rest = [resumed.on_after_batch_transfer(one, 0) for one in resumed.train_dataloader()]
    assert first + parts(rest)[:4] == whole


class Watcher(pl.LightningModule):
    """Keeps what it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.seen: list[Any] = []

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        self.seen.append(batch)
        loss: Tensor = self.weight * batch.image.mean()
        return loss

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Never called: there is nothing to validate."""

    def predict_step(self, batch: Any, batch_idx: int) -> Tensor:
        self.seen.append(batch)
        factors: Tensor = batch.factors
        return factors

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


@pytest.mark.every(4)
@pytest.mark.parametrize("build", MODULES)
def test_under_a_trainer(build: Any, tiny: Dataset, batches: Batches, tmp_path: Path) -> None:
    """Images come in the trainer's precision, numbers as they are; prediction shows images."""
    data = build(tiny, batch_size=8, validation=0.0)
    expected = batches(data, count=3)
    trainer = pl.Trainer(
        accelerator="cpu",
        precision="64-true",
        max_steps=3,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        limit_val_batches=0,
        default_root_dir=tmp_path,
    )
    torch.manual_seed(5)
    watcher = Watcher()
    trainer.fit(watcher, datamodule=build(tiny, batch_size=8, validation=0.0))
    for batch, wanted in zip(watcher.seen, expected, strict=True):
        assert type(batch) is data.batch_type
        for name, other in fields_of(wanted).items():
            part = fields_of(batch)[name]
            assert part.dtype == (torch.float64 if other.is_floating_point() else other.dtype)
            assert torch.equal(part.to(other.dtype), other)
    watcher.seen = []
    trainer.predict(watcher, datamodule=data, return_predictions=False)
    shown = torch.cat([batch.factors for batch in watcher.seen])
    assert {type(batch) for batch in watcher.seen} == {ImageBatch}
    assert tiny.factors.index(shown.numpy()).tolist() == data.indices("test").tolist()


@pytest.mark.parametrize("build", MODULES)
def test_every_part_of_a_batch_is_moved(build: Any, tiny: Dataset) -> None:
    data = build(tiny, batch_size=8)
    data.setup("fit")
    numbers = next(iter(data.train_dataloader()))
    here, away = torch.device("cpu"), torch.device("meta")
    assert data.transfer_batch_to_device(numbers, here, 0) is numbers
    moved = data.transfer_batch_to_device(numbers, away, 0)
    parts = [moved.states, moved.positions, moved.image, *moved.labels.values()]
    assert {part.device for part in parts} == {away}
    assert moved.labels.keys() == numbers.labels.keys()
    assert data.transfer_batch_to_device(numbers._replace(image=None), away, 0).image is None


@pytest.mark.parametrize("num_workers", [0, 2])
def test_images_are_gathered_once_and_where_it_is_cheapest(num_workers: int, tiny: Dataset) -> None:
    """Worker processes send bytes; without them the training process makes floats at once."""
    data = SingleData(tiny, batch_size=8, num_workers=num_workers)
    data.trainer = pl.Trainer(accelerator="cpu", logger=False, enable_checkpointing=False)
    data.setup("fit")
    numbers = next(iter(data.train_dataloader()))
    assert (numbers.image is None) == (num_workers == 0)


@pytest.mark.every(8)
@pytest.mark.parametrize("world", [2, 3, 50])
@pytest.mark.parametrize("build", MODULES)
def test_processes_share_the_batches_of_evaluation(
    build: Any, world: int, tiny: Dataset, batches: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batch by batch in turn, each as one process has it; the first are repeated at the end."""
    data = build(tiny, batch_size=world, eval_batch_size=4, validation=0.1)
    whole = parts(batches(data, "validation"))
    assert data.eval_batches("validation") == len(whole)
    shares = []
    for rank in range(world):
        monkeypatch.setattr(WORLD, lambda rank=rank: (rank, world))
        shares.append(parts(batches(data, "validation")))
    assert {len(share) for share in shares} == {-(-len(whole) // world)}
    together = [batch for turn in zip(*shares, strict=True) for batch in turn]
    repeated = [whole[number % len(whole)] for number in range(len(whole), len(together))]
    assert together == whole + repeated


@pytest.mark.parametrize("build", MODULES)
def test_without_validation(build: Any, tiny: Dataset) -> None:
    assert list(build(tiny, validation=0.0).val_dataloader()) == []


@pytest.mark.parametrize("build", MODULES)
def test_images_are_resized_and_coloured(build: Any, tiny: Dataset, batches: Batches) -> None:
    data: DataModule = build(tiny, batch_size=8, resize=4, colour="rgb")
    assert data.image_shape == (3, 4, 4)
    (batch,) = batches(data, count=1)
    assert batch.image.shape == (8, 3, 4, 4)
    states = torch.from_numpy(tiny.factors.index(batch.factors.numpy()))
    assert torch.equal(batch.image, data.images(states))


def test_transforms_by_hand() -> None:
    red = torch.tensor([255, 0, 0], dtype=torch.uint8).view(1, 3, 1, 1).expand(1, 3, 4, 4)
    grey = transform(fractions(red), 2, "grey")
    assert grey.shape == (1, 1, 2, 2)
    assert torch.allclose(grey, torch.tensor(0.299))
    board = fractions(255 * (torch.arange(16).view(1, 1, 4, 4) % 2).to(torch.uint8))
    # columns of 0 and 1: an antialiased half size mixes them, picking pixels would not
    assert torch.allclose(transform(board, 2, "keep").mean(), torch.tensor(0.5))
    same = F.interpolate(board, size=(2, 2), mode="bilinear", antialias=True)
    assert torch.equal(transform(board, 2, "keep"), same)
    assert torch.equal(transform(board, None, "rgb")[:, 2:], transform(board, 4, "grey"))


def test_transforms_that_cannot_be(tiny: Dataset) -> None:
    with pytest.raises(InputError, match="resize is 0; it must be a whole number of at least 1"):
        SingleData(tiny, resize=0)
    with pytest.raises(InputError, match="1 or 3 channels, and these have 2"):
        transformed_shape((2, 8, 8), None, "grey")
    assert transformed_shape((2, 8, 6), 5, "keep") == (2, 5, 5)


def test_correlated_draws_follow_the_density(tiny: Dataset) -> None:
    """p ∝ exp(−(c₁ − αc₂)² / 2σ²): every cell's count against the formula."""
    data = SingleData(
        tiny,
        validation=0.0,
        test=0.0,
        correlation={"factors": ["place", "angle"], "strength": 0.2},
    )
    drawn = data.plan("train").draw(np.random.default_rng(0), 200_000, 0).states
    positions = tiny.factors.positions(drawn)
    counts = np.bincount(positions[:, 2] * 5 + positions[:, 1], minlength=100)
    place, angle = np.divmod(np.arange(100), 5)
    alpha, sigma = 19 / 4, 0.2 * 19
    weights = np.exp(-((place - alpha * angle) ** 2) / (2 * sigma**2))
    wanted = 200_000 * weights / weights.sum()
    often = wanted > 5
    chi = ((counts - wanted)[often] ** 2 / wanted[often]).sum()
    assert chi == pytest.approx(often.sum(), abs=5 * np.sqrt(2 * often.sum()))
    shapes = np.bincount(positions[:, 0])
    assert shapes == pytest.approx(200_000 / 3, rel=0.02)  # the third factor is as it was


@pytest.mark.parametrize(
    ("correlation", "message"),
    [
        ({"factors": ["place", "place"], "strength": 0.1}, "two different factors, not of"),
        ({"factors": ["place"], "strength": 0.1}, "two different factors"),
        ({"factors": ["place", "size"], "strength": 0.1}, "no factor is named 'size'"),
        ({"factors": ["place", "angle"], "strength": 0.0}, "must be at least 1e-06, not 0.0"),
        ({"factors": ["place", "angle"]}, "has factors and a strength, not"),
        (
            {"factors": ["place", "angle"], "strength": float("nan")},
            "correlation is .* it must be a mapping with factors, strength",
        ),
    ],
)
@pytest.mark.parametrize("build", [SingleData, PairedData])
def test_correlations_that_cannot_be(
    build: Any, correlation: Any, message: str, tiny: Dataset
) -> None:
    with pytest.raises(InputError, match=message):
        build(tiny, correlation=correlation)


def test_a_band_that_misses_all_states_is_refused(tiny: Dataset) -> None:
    """Their weights would all round to 0, and nothing could be drawn in proportion to them."""
    data = SingleData(
        tiny,
        batch_size=2,
        include={"angle": 0.0, "place": {"min": 15}},
        validation=0.0,
        test=0.0,
        correlation={"factors": ["place", "angle"], "strength": 0.01},
    )
    with pytest.raises(InputError, match="none of the 15 states to draw from lies near the band"):
        data.plan("train")


@pytest.mark.parametrize("build", [PairedData, CompositionData, SymbolData, TransitionData])
def test_images_without_factors_are_for_single_data(build: Any) -> None:
    images = np.random.default_rng(0).integers(256, size=(40, 8, 8), dtype=np.uint8)
    with pytest.raises(InputError, match="needs images with factors, and these have none"):
        build(ArrayDataset(images), batch_size=4)


def test_places_are_those_of_sorting() -> None:
    lots = np.random.default_rng(0).random((50, 7))
    assert ranks(lots).tolist() == lots.argsort(axis=1).argsort(axis=1).tolist()
    assert ranks(np.array([[2.0, 0.5, 2.0]])).tolist() == [[1, 0, 1]]


def test_groups_number_equal_rows_alike() -> None:
    rows = np.array([[3, 1], [0, 1], [3, 1], [3, 0]])
    numbers = groups(rows)
    assert (numbers[:, None] == numbers).tolist() == (
        (rows[:, None] == rows[None]).all(-1).tolist()
    )
    assert set(numbers) == {0, 1, 2}
    assert groups(rows[:, :0]).tolist() == [0, 0, 0, 0]


def test_runs_and_samplers_by_hand() -> None:
    rows = np.array([[0, 0], [0, 1], [1, 0], [0, 1]])
    runs = StateGroups(rows, [[0], [0, 1], []], np.array([1.0, 2.0, 5.0, 0.0]))
    assert sorted(runs.members(0, 3)) == [0, 1, 3]
    assert sorted(runs.members(1, 3)) == [1, 3]
    assert runs.members(2, 2).tolist() == [0, 1, 2, 3]
    # alike images do not vary
    assert runs.varied.tolist() == [[True, True, False, True], [False] * 4, [True] * 4]
    which, row = np.array([0, 1, 2]), np.array([0, 3, 0])
    picked = runs.pick(np.random.default_rng(0), which, row, 6000)
    first, second, third = (np.bincount(column, minlength=4) / 6000 for column in picked.T)
    assert first == pytest.approx([1 / 3, 2 / 3, 0, 0], abs=0.03)
    assert second.tolist() == [0, 1, 0, 0]
    assert third == pytest.approx([1 / 8, 2 / 8, 5 / 8, 0], abs=0.03)
    assert set(
        Sampler(3).between(np.random.default_rng(0), np.array([1] * 50), np.array([3] * 50))
    ) == {1, 2}


PAGES = [Path(__file__).parents[2] / f"docs/{name}.md" for name in ("datasets", "supervision")]
DOCS = "".join(page.read_text() for page in PAGES)
EXAMPLES = [text for text in re.findall(r"```yaml\n(.*?)```", DOCS, re.S) if "Data\n" in text]


@pytest.mark.every(3)
@pytest.mark.parametrize("text", EXAMPLES)
def test_documented_configurations_make_a_data_module(text: str, tmp_path: Path) -> None:
    load_all()
    shared = """
    correlation: {factors: [posX, scale], strength: 1}
    resize: 32
    colour: rgb
"""
    (tmp_path / "config.yaml").write_text(text + shared)
    parser = jsonargparse.ArgumentParser()
    parser.add_argument("--config", action="config")
    parser.add_subclass_arguments(DataModule, "data")
    parsed = parser.parse_args(["--config", str(tmp_path / "config.yaml")])
    data = parser.instantiate(parsed).data
    assert isinstance(data, DataModule)
    assert data.image_shape == (3, 32, 32)


def test_every_data_module_is_documented() -> None:
    names = {yaml.safe_load(text)["data"]["class_path"] for text in EXAMPLES}
    assert names == {plugin.name for plugin in available("datamodules")}
