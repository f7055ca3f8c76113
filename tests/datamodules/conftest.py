from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import DataModule, Dataset, ImageShape, Split
from dislab.factors import Factor, FactorSpace, Indices

SPACE = FactorSpace(
    (
        Factor("shape", ("dot", "bar", "ring"), "categorical"),
        Factor("angle", (0.0, 1.0, 2.0, 3.0, 4.0), "circular", period=4.0),
        Factor("place", tuple(float(place) for place in range(20))),
    )
)


class Tiny(Dataset):
    """300 images of 8 by 8 pixels that show their own number; angles 0 and 4 look the same."""

    def __init__(self) -> None:
        self.prepared = 0
        self.asked: list[str] = []

    @property
    def factors(self) -> FactorSpace:
        return SPACE

    @property
    def image_shape(self) -> ImageShape:
        return (1, 8, 8)

    def prepare(self) -> None:
        self.prepared += 1

    def tables(self) -> dict[str, Tensor]:
        self.asked.append("tables")
        number = torch.arange(len(self.factors))
        return {"high": (number // 256).byte(), "low": (number % 256).byte()}

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        image = torch.zeros(len(index), 1, 8, 8, dtype=torch.uint8, device=index.device)
        image[:, 0, 0, 0] = tables["high"][index]
        image[:, 0, 0, 1] = tables["low"][index]
        return image

    def provenance(self) -> dict[str, str]:
        return {"source": "tiny"}

    def canonical(self, index: Indices) -> Indices:
        positions = SPACE.positions(index)
        positions[..., 1] %= 4
        return SPACE.index(positions)


@pytest.fixture
def tiny() -> Tiny:
    return Tiny()


class Partial(Tiny):
    """The tiny set with some of its combinations only, the angle without its twin."""

    def __init__(self, keep: float = 0.3, seed: int = 0) -> None:
        super().__init__()
        factors = (SPACE["shape"], Factor("angle", (0.0, 1.0, 2.0)), SPACE["place"])
        full = FactorSpace(factors)
        kept = np.random.default_rng(seed).random(len(full)) < keep
        self.space = FactorSpace(factors, full.positions(np.flatnonzero(kept)))

    @property
    def factors(self) -> FactorSpace:
        return self.space

    def canonical(self, index: Indices) -> Indices:
        return index


@pytest.fixture
def partial_set() -> Partial:
    return Partial()


class Repeated(Tiny):
    """Few labels, each of one to six images: those of equal labels differ in a nuisance."""

    def __init__(self) -> None:
        super().__init__()
        instance = Factor("instance", tuple(map(float, range(6))), nuisance=True)
        factors = (SPACE["shape"], Factor("place", (0.0, 1.0, 2.0, 3.0)), instance)
        counts = np.arange(12) % 6 + 1
        label = np.repeat(np.arange(12), counts)
        number = np.concatenate([np.arange(count) for count in counts])
        self.space = FactorSpace(factors, np.stack([label // 4, label % 4, number], axis=1))

    @property
    def factors(self) -> FactorSpace:
        return self.space

    def canonical(self, index: Indices) -> Indices:
        return index


@pytest.fixture
def repeated() -> Repeated:
    return Repeated()


def shown(image: Tensor) -> Indices:
    """The state numbers that images show."""
    numbers = (image[..., 0, 0, :2].double() * 255).round() @ torch.tensor([256.0, 1.0]).double()
    return np.asarray(numbers.long())


@pytest.fixture(name="shown")
def shown_fixture() -> Callable[[Tensor], Indices]:
    return shown


def batches(data: DataModule, split: Split = "train", count: int = 50, seed: int = 5) -> list[Any]:
    """The batch that an objective receives."""
    torch.manual_seed(seed)
    data.prepare_data()
    data.setup("fit")
    loaders = {"train": "train_dataloader", "validation": "val_dataloader"}
    loader = getattr(data, loaders.get(split, f"{split}_dataloader"))()
    return [
        data.on_after_batch_transfer(one, 0) for _, one in zip(range(count), loader, strict=False)
    ]


@pytest.fixture(name="batches")
def batches_fixture() -> Callable[..., list[Any]]:
    return batches
