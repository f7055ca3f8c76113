"""A data set of moving blocks and small objectives over it."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from jaxtyping import Float, Int, UInt8
from lightning.pytorch.cli import OptimizerCallable
from torch import Tensor, nn

from dislab.base import (
    DataModule,
    Dataset,
    Draws,
    ImageBatch,
    Metric,
    Objective,
    Posterior,
    Split,
    Terms,
)
from dislab.codes.bank import CodeBank
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace, Indices
from dislab.functional.losses import kl_per_latent, sample
from dislab.functional.streams import Stream

SPACE = FactorSpace(
    (
        Factor("x", (0.0, 1.0, 2.0, 3.0)),
        Factor("y", (0.0, 1.0, 2.0, 3.0)),
        Factor("brightness", (0.5, 1.0)),
    )
)


class Blocks(Dataset):
    """A block of 2 by 2 pixels at one of 16 places of an 8 by 8 image, in two brightnesses."""

    @property
    def factors(self) -> FactorSpace:
        return SPACE

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (1, 8, 8)

    def prepare(self) -> None:
        pass

    def tables(self) -> dict[str, Tensor]:
        image = torch.zeros(len(SPACE), 1, 8, 8, dtype=torch.uint8)
        for state, (x, y, bright) in enumerate(SPACE.positions(np.arange(len(SPACE)))):
            image[state, 0, 2 * y : 2 * y + 2, 2 * x : 2 * x + 2] = (128, 255)[bright]
        return {"image": image}

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        return tables["image"][index]

    def provenance(self) -> dict[str, str]:
        return {"source": "blocks", "version": "1"}


class Batches:
    """Batches of a data module in the order of the states."""

    def __init__(self, data: DataModule, states: Indices) -> None:
        self.data = data
        self.parts = [states[start : start + 8] for start in range(0, len(states), 8)]

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[ImageBatch]:
        for part in self.parts:
            positions = torch.from_numpy(SPACE.positions(part))
            yield ImageBatch(self.data.images(torch.from_numpy(part)), positions)


class BlockData(DataModule):
    """All 32 states for training, the last 12 for testing."""

    def __init__(self) -> None:
        super().__init__()
        self.dataset = Blocks()
        self.asked: list[list[int]] = []

    def indices(self, split: Split) -> Indices:
        return np.arange(32) if split in ("train", "all") else np.arange(20, 32)

    def images(self, index: Int[Tensor, " batch"]) -> Float[Tensor, "batch channel height width"]:
        self.asked.append(index.tolist())
        return self.dataset.images(index).float() / 255

    def train_dataloader(self) -> Batches:
        return Batches(self, self.indices("train"))

    def val_dataloader(self) -> Batches:
        return Batches(self, self.indices("validation"))

    def test_dataloader(self) -> Batches:
        return Batches(self, self.indices("test"))

    def predict_dataloader(self) -> Batches:
        return Batches(self, self.indices("test"))


class Linear(Objective):
    """A linear VAE whose encoder counts its calls and takes each latent's KL as a setting."""

    def __init__(self, latent_dim: int = 3, optimizer: OptimizerCallable = torch.optim.SGD) -> None:
        super().__init__(optimizer)
        self.save_hyperparameters()
        self.latent_dim = latent_dim
        self.encoder = nn.Linear(64, 2 * latent_dim)
        self.decoder = nn.Linear(latent_dim, 64)
        self.encoded: list[int] = []
        self.modes: list[bool] = []

    def draw(self, count: int, stream: Stream) -> Draws:
        return {"noise": stream.normal("noise", count, self.latent_dim)}

    def losses(self, batch: ImageBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        posterior = self.encode(batch.image)
        decoded = self.decode(sample(*posterior, draws["noise"]))
        loss = (decoded - batch.image).square().sum() / len(decoded)
        return Terms(loss + kl_per_latent(*posterior).sum(1).mean(), {})

    def encode(self, image: Float[Tensor, "batch channel height width"]) -> Posterior:
        self.encoded.append(len(image))
        self.modes.append(self.training)
        mean, log_var = self.encoder(image.flatten(1)).chunk(2, dim=1)
        return Posterior(mean, log_var)

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        return self.encode(image).mean

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        image: Tensor = self.decoder(z).sigmoid().view(-1, 1, 8, 8)
        return image


class Autoencoder(Objective):
    """An objective with codes only."""

    def __init__(self) -> None:
        super().__init__(torch.optim.SGD)
        self.encoder = nn.Linear(64, 2)

    def draw(self, count: int, stream: Stream) -> Draws:
        return {}

    def losses(self, batch: ImageBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        return Terms(self.codes(batch.image).square().mean(), {})

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        codes: Tensor = self.encoder(image.flatten(1))
        return codes


class Decoding(Autoencoder):
    """An objective with codes and a decoder, but no posterior."""

    def __init__(self) -> None:
        super().__init__()
        self.decoder = nn.Linear(2, 64)

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        image: Tensor = self.decoder(z).sigmoid().view(-1, 1, 8, 8)
        return image


class Renderer(Objective):
    """An objective that draws from true factors and has no codes."""

    has_codes = False

    def __init__(self) -> None:
        super().__init__(torch.optim.SGD)
        self.decoder = nn.Linear(3, 64)

    def draw(self, count: int, stream: Stream) -> Draws:
        return {}

    def losses(self, batch: ImageBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        return Terms((self.render(batch.factors) - batch.image).square().mean(), {})

    def codes(self, image: Float[Tensor, "batch channel height width"]) -> NoReturn:
        raise InputError("Renderer has no codes")

    def render(
        self, factors: Int[Tensor, "batch factor"]
    ) -> Float[Tensor, "batch channel height width"]:
        image: Tensor = self.decoder(factors.float()).sigmoid().view(-1, 1, 8, 8)
        return image


class Correlation(Metric):
    """Absolute correlation of latents and factors, to a power."""

    def __init__(self, space: FactorSpace, power: float = 1.0) -> None:
        super().__init__(space)
        self.power = power

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        codes, factors = bank.codes, bank.factors
        both = torch.cat((codes.double(), factors.double()), dim=1).T
        table = torch.corrcoef(both)[: codes.shape[1], codes.shape[1] :].abs() ** self.power
        table = table.nan_to_num(0.0)  # of latents that are constant
        return {"correlation": table.amax(0).mean(), "correlation_per_factor": table.amax(0)}


@pytest.fixture
def data() -> DataModule:
    return BlockData()


@pytest.fixture
def objective() -> Objective:
    torch.manual_seed(0)
    return Linear()


@pytest.fixture
def without_decoder() -> Objective:
    torch.manual_seed(0)
    return Autoencoder()


@pytest.fixture
def codes_and_decoder() -> Objective:
    torch.manual_seed(0)
    return Decoding()


@pytest.fixture
def without_codes() -> Objective:
    torch.manual_seed(0)
    return Renderer()


@pytest.fixture
def correlation() -> type[Metric]:
    return Correlation


TrainerMaker = Callable[..., pl.Trainer]


def quiet_trainer(folder: Path, **settings: Any) -> pl.Trainer:
    """A trainer that prints nothing; its run folder is `folder` without a logger."""
    quiet = {
        "accelerator": "cpu",
        "devices": 1,
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "log_every_n_steps": 1,
        "max_steps": 4,
        "default_root_dir": folder,
    }
    return pl.Trainer(**{**quiet, **settings})


@pytest.fixture
def trainer(tmp_path: Path) -> TrainerMaker:
    """Makes quiet trainers whose run folder is `tmp_path/run` with the first logger."""
    return functools.partial(quiet_trainer, tmp_path / "run")
