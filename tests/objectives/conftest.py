from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from dislab.base import DataModule, Dataset, ImageBatch, ImageShape, Objective, SymbolBatch
from dislab.codes.concepts import read_attributes
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.factors import Factor, FactorSpace, Indices
from dislab.functional.streams import Stream
from dislab.functional.symbols import factor_of_each
from dislab.objectives import VAE
from dislab.regularizers import KL, TotalCorrelation


class Squares(Dataset):
    """A white square at one of 4×4 places."""

    @property
    def factors(self) -> FactorSpace:
        places = (0.0, 1.0, 2.0, 3.0)
        return FactorSpace((Factor("x", places), Factor("y", places)))

    @property
    def image_shape(self) -> ImageShape:
        return (1, 8, 8)

    def prepare(self) -> None:
        pass

    def tables(self) -> dict[str, Tensor]:
        images = torch.zeros(16, 1, 8, 8, dtype=torch.uint8)
        for place in range(16):
            x, y = divmod(place, 4)
            images[place, 0, 2 * x : 2 * x + 2, 2 * y : 2 * y + 2] = 255
        return {"images": images}

    def gather(self, tables: dict[str, Tensor], index: Tensor) -> Tensor:
        return tables["images"][index]

    def provenance(self) -> dict[str, str]:
        return {"source": "made here"}


class SquareData(DataModule):
    """Every square once an epoch, in batches of four."""

    def __init__(self) -> None:
        super().__init__()
        self.dataset = Squares()

    def indices(self, split: str) -> Indices:
        return np.arange(16)

    def images(self, index: Tensor) -> Tensor:
        return self.dataset.images(index).float() / 255

    def batch(self, index: Tensor) -> ImageBatch:
        return ImageBatch(self.images(index), torch.from_numpy(self.factors.positions(index)))

    def train_dataloader(self) -> DataLoader[ImageBatch]:
        order = torch.arange(16).view(4, 4).T
        return DataLoader([self.batch(index) for index in order], batch_size=None)  # type: ignore[arg-type]

    def val_dataloader(self) -> DataLoader[ImageBatch]:
        return self.train_dataloader()


@pytest.fixture
def data() -> SquareData:
    return SquareData()


@pytest.fixture
def make_trainer(tmp_path: Path) -> Callable[..., pl.Trainer]:
    """Makes a quiet trainer on the CPU."""

    def make(**settings: Any) -> pl.Trainer:
        return pl.Trainer(
            default_root_dir=tmp_path,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            accelerator="cpu",
            devices=1,
            **settings,
        )

    return make


@pytest.fixture
def save(tmp_path: Path) -> Callable[[Objective, str], str]:
    """Writes an untrained objective as the checkpoint of a run and returns the run's folder."""

    def write(model: Objective, name: str) -> str:
        runner = pl.Trainer(
            default_root_dir=tmp_path,
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            accelerator="cpu",
        )
        runner.strategy.connect(model)
        run = tmp_path / name / "version_0"
        runner.save_checkpoint(run / "checkpoints" / "last.ckpt")
        return str(run)

    return write


class Toy(NamedTuple):
    """White shapes on black 32×32 images, every state of the factors once."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    image: Tensor
    factors: Tensor


@pytest.fixture(scope="session")
def toy() -> Toy:
    """Squares, discs and triangles of three sizes at 12×12 places."""
    sizes = (3, 3, 12, 12)
    factors = torch.cartesian_prod(*map(torch.arange, sizes))
    shape, scale, column, row = factors.T[:, :, None, None]
    grid = torch.arange(32.0)
    x = grid[None, None, :] - (8 + 15 * column / 11)
    y = grid[None, :, None] - (8 + 15 * row / 11)
    radius = 3.5 + 1.5 * scale
    square = torch.maximum(x.abs(), y.abs()) <= 0.88 * radius
    disc = x.square() + y.square() <= radius.square()
    triangle = (y.abs() <= radius) & (x.abs() <= (y + radius) / 2)
    image = torch.where(shape == 0, square, torch.where(shape == 1, disc, triangle))
    return Toy(("shape", "scale", "x", "y"), sizes, image[:, None].float(), factors)


class Described:
    """The toy images with descriptions, and a reader of what images show.

    Args:
        toy: The images.
    """

    names = (
        *("shape=square", "shape=disc", "shape=triangle"),
        *("scale=small", "scale=middle", "scale=large"),
        *("x=low", "x=high", "y=low", "y=high"),
    )
    factor = torch.tensor(factor_of_each(names))

    def __init__(self, toy: Toy) -> None:
        self.toy = toy
        parts = toy.factors.clone()
        parts[:, 2:] //= 6
        self.attributes = torch.zeros(len(parts), 10).scatter_(
            1, parts + torch.tensor([0, 3, 6, 8]), 1.0
        )
        self.generator = torch.Generator().manual_seed(3)

    def batch(self, index: Tensor) -> SymbolBatch:
        """Images, each described by one to four of its attributes."""
        count = torch.randint(1, 5, (len(index), 1), generator=self.generator)
        rank = torch.rand(len(index), 4, generator=self.generator).argsort(1).argsort(1)
        named = (rank < count)[:, self.factor].float()
        symbol = self.attributes[index] * named
        return SymbolBatch(self.toy.image[index], symbol, self.toy.factors[index])

    def read(self, image: Tensor) -> Tensor:
        """The attribute of each factor of each image."""
        return read_attributes(image, self.toy.image, self.attributes, self.factor)


@pytest.fixture(scope="session")
def describe(toy: Toy) -> Callable[[], Described]:
    """Describes the toy images; every call draws the same descriptions."""
    return partial(Described, toy)


class Train(Protocol):
    def __call__(
        self, model: Objective, batch: Callable[[Tensor], Any], states: int, steps: int, lr: float
    ) -> list[dict[str, float]]: ...


@pytest.fixture(scope="session")
def train() -> Train:
    """Trains on random batches of 64 states, without Lightning, and returns every 50th log."""

    def run(
        model: Objective, batch: Callable[[Tensor], Any], states: int, steps: int, lr: float
    ) -> list[dict[str, float]]:
        generator = torch.Generator().manual_seed(0)
        learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimizer = torch.optim.Adam(learned, lr=lr)
        logs = []
        for step in range(steps):
            drawn = batch(torch.randint(states, (64,), generator=generator))
            loss, log = model.losses(drawn, model.draw(64, Stream(0, step)), torch.tensor(step))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if step % 50 == 0:
                logs.append({name: value.item() for name, value in log.items()})
        return logs

    return run


MakeVAE = Callable[[], VAE]


@pytest.fixture
def make_vae() -> MakeVAE:
    """Makes a small FactorVAE for 8×8 images; every call returns the same weights."""

    def make() -> VAE:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return VAE(
                (1, 8, 8),
                16,
                3,
                partial(MLPEncoder, hidden=(16,)),
                partial(MLPDecoder, hidden=(16,)),
                {"kl": KL, "tc": partial(TotalCorrelation, width=8, depth=1, lr=3e-3)},
            )

    return make
