"""Resized images are made once in a training on the CPU, and are the same to the bit."""

from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from torch import Tensor

from dislab.base import Dataset
from dislab.datamodules import PairedData, SingleData
from dislab.datasets import ArrayDataset, GaussianBlob
from dislab.plans.gathering import Gathering, KeptImages, transform

CPU = torch.device("cpu")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of images that were resized together."""
    counts: list[int] = []

    def counted(scaled: Tensor, *settings: Any) -> Tensor:
        counts.append(len(scaled))
        return transform(scaled, *settings)

    monkeypatch.setattr("dislab.plans.gathering.transform", counted)
    return counts


def gatherings(dataset: Dataset, colour: Any, states: np.ndarray) -> tuple[Gathering, Gathering]:
    """A gathering that keeps images of some states, and one that keeps none."""
    keeps, makes = (Gathering(dataset, "auto", 0, 20, colour) for _ in range(2))
    for one in (keeps, makes):
        one.settle(CPU)
    keeps.keep(states)
    return keeps, makes


@pytest.mark.parametrize("colour", ["keep", "grey"])
@pytest.mark.parametrize("name", ["grey", "coloured"])
def test_images_are_made_once_and_are_the_same(name: str, colour: Any, made: list[int]) -> None:
    pixels = np.random.default_rng(0).integers(256, size=(50, 24, 30, 3), dtype=np.uint8)
    dataset = GaussianBlob() if name == "grey" else ArrayDataset(pixels)
    keeps, makes = gatherings(dataset, colour, np.arange(40))
    for chosen in ([7], [3, 7, 3, 39], list(range(40)), [12, 5]):
        index = torch.tensor(chosen)
        assert torch.equal(keeps.images(index), makes.images(index))
    # each of 40 once, and by the other as often as asked for
    assert sum(made) == 40 + (1 + 4 + 40 + 2)


def test_a_returned_image_can_be_changed() -> None:
    keeps, makes = gatherings(GaussianBlob(), "keep", np.arange(10))
    keeps.images(torch.tensor([4])).zero_()
    keeps.images(torch.tensor([4])).zero_()
    assert torch.equal(keeps.images(torch.tensor([4])), makes.images(torch.tensor([4])))


def test_other_states_are_made_anew() -> None:
    keeps, makes = gatherings(GaussianBlob(), "keep", np.arange(10, 20))
    for chosen in ([9, 15], [20], [3, 900], [15]):
        index = torch.tensor(chosen)
        assert torch.equal(keeps.images(index), makes.images(index))


def test_what_takes_too_much_memory_is_not_kept() -> None:
    assert KeptImages.fit(np.arange(65_536), (1, 32, 32))
    assert not KeptImages.fit(np.arange(65_537), (1, 32, 32))
    assert not KeptImages.fit(np.arange(0), (1, 32, 32))


def fitted(data: Any, model: pl.LightningModule) -> None:
    trainer = pl.Trainer(
        accelerator="cpu",
        devices=1,
        max_steps=60,
        limit_val_batches=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, datamodule=data)


class Sums(pl.LightningModule):
    """Keeps the images that it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))
        self.seen: list[Tensor] = []

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        self.seen.append(batch.image.clone())
        loss: Tensor = self.weight * batch.image.mean()
        return loss

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        self.seen.append(batch.image.clone())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [SingleData, PairedData])
@pytest.mark.parametrize("resize", [None, 16])
def test_training_keeps_resized_images(
    kind: type[SingleData | PairedData],
    resize: int | None,
    made: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings: Any = {"batch_size": 32, "resize": resize, "hold_out": {"posX": 0}}
    keeping = Sums()
    torch.manual_seed(0)
    fitted(kind(GaussianBlob(), **settings), keeping)
    count = sum(made)
    monkeypatch.setattr(KeptImages, "fit", staticmethod(lambda *_: False))
    making = Sums()
    torch.manual_seed(0)
    fitted(kind(GaussianBlob(), **settings), making)
    assert len(keeping.seen) == len(making.seen) > 60
    for one, other in zip(keeping.seen, making.seen, strict=True):
        assert torch.equal(one, other)
    assert (count < sum(made) - count) == (resize is not None)


def test_nothing_is_kept_where_images_stay_as_they_are() -> None:
    data = SingleData(GaussianBlob(), resize=GaussianBlob().image_shape[-1])
    fitted(data, Sums())
    assert data._gathering._kept is None
