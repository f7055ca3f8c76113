"""Every built-in part conforms, and the checks notice parts that do not."""

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from torch import Tensor, nn

from dislab.base import (
    CompositionBatch,
    Draws,
    Encoder,
    ImageBatch,
    Objective,
    Penalty,
    Posterior,
    Regularizer,
    SymbolBatch,
)
from dislab.datasets import DSprites
from dislab.decoders import ConvDecoder64, MLPDecoder
from dislab.encoders import ConvEncoder64, MLPEncoder
from dislab.metrics import DCI, MIG, FactorVAEScore
from dislab.objectives import (
    JMVAE,
    SCAN,
    TELBO,
    VAE,
    BetaVAEDAE,
    BottleneckGenerator,
    CompositionVAE,
    DenoisingAutoencoder,
    GroundTruthDecoder,
    Recombinator,
)
from dislab.plugins import GROUPS, available
from dislab.regularizers import DIP, KL, CapacityKL, DecomposedKL, TotalCorrelation
from dislab.testing import (
    check_dataset,
    check_declared,
    check_decoder,
    check_encoder,
    check_metric,
    check_objective,
    check_regularizer,
)

ENCODERS: dict[str, Any] = {
    "ConvEncoder64": [partial(ConvEncoder64, preset=p) for p in ("burgess", "locatello", "kim")],
    "MLPEncoder": [partial(MLPEncoder, hidden=(8,))],
}
DECODERS: dict[str, Any] = {
    "ConvDecoder64": [partial(ConvDecoder64, preset=p) for p in ("burgess", "locatello", "kim")],
    "MLPDecoder": [partial(MLPDecoder, hidden=(8,))],
}
REGULARIZERS: dict[str, Any] = {
    "CapacityKL": [CapacityKL],
    "DIP": [partial(DIP, kind="I"), partial(DIP, kind="II")],
    "DecomposedKL": [partial(DecomposedKL, form=form) for form in ("sampled", "analytic")],
    "KL": [KL, partial(KL, warmup_steps=10)],
    "TotalCorrelation": [
        partial(TotalCorrelation, width=8, depth=1, batches=batches) for batches in ("one", "two")
    ],
}
METRICS: dict[str, Any] = {"DCI": [DCI], "FactorVAEScore": [FactorVAEScore], "MIG": [MIG]}


def cases(parts: dict[str, Any]) -> list[Any]:
    return [build for builds in parts.values() for build in builds]


@pytest.mark.parametrize("group", GROUPS)
def test_every_part_is_declared_under_its_name(group: str) -> None:
    check_declared(group, [plugin.name for plugin in available(group)])


@pytest.mark.parametrize(
    ("group", "parts"),
    [
        ("encoders", ENCODERS),
        ("decoders", DECODERS),
        ("regularizers", REGULARIZERS),
        ("metrics", METRICS),
    ],
)
def test_every_declared_part_is_checked_here(group: str, parts: dict[str, Any]) -> None:
    own = {plugin.name for plugin in available(group) if plugin.distribution == "dislab"}
    assert own == set(parts)


@pytest.mark.parametrize("build", cases(ENCODERS))
def test_encoders(build: Any) -> None:
    check_encoder(build)


@pytest.mark.parametrize("build", cases(DECODERS))
def test_decoders(build: Any) -> None:
    check_decoder(build)


@pytest.mark.parametrize("build", cases(REGULARIZERS))
def test_regularizers(build: Any) -> None:
    check_regularizer(build)


@pytest.mark.parametrize("build", cases(METRICS))
def test_metrics(build: Any) -> None:
    check_metric(build)


def test_datasets() -> None:
    check_dataset(DSprites())


@pytest.mark.parametrize("build", cases(REGULARIZERS))
def test_objectives(build: Any) -> None:
    encoder, decoder = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
    parts = {"kl": KL, "other": build}
    image = torch.rand(6, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    batch = ImageBatch(image, torch.zeros(6, 2, dtype=torch.int64))
    check_objective(partial(VAE, (1, 8, 8), 100, 3, encoder, decoder, parts), batch)


NETWORKS = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
FACTORS = ("x", "y"), (3, 5)
IMAGE = torch.rand(6, 1, 8, 8, generator=torch.Generator().manual_seed(0))
POSITIONS = torch.tensor([[0, 4], [1, 0], [2, 2], [0, 1], [1, 3], [2, 4]])
SYMBOLS = ("x=low", "x=high", "y=low")
DESCRIBED = SymbolBatch(
    IMAGE, torch.tensor([[1.0, 0, 0], [0, 1, 1], [0, 0, 1]]).repeat(2, 1), POSITIONS
)
OTHERS: dict[str, tuple[Any, Any]] = {
    "BottleneckGenerator": (
        partial(BottleneckGenerator, (1, 8, 8), *FACTORS, NETWORKS[1]),
        ImageBatch(IMAGE, POSITIONS),
    ),
    "CompositionVAE": (
        partial(CompositionVAE, (1, 8, 8), ("x", "y"), 3, *NETWORKS),
        CompositionBatch(IMAGE, IMAGE.flip(0), IMAGE.roll(1, 0), POSITIONS, POSITIONS[:, 1] % 2),
    ),
    "DenoisingAutoencoder": (
        partial(DenoisingAutoencoder, (1, 8, 8), *NETWORKS, bottleneck=5),
        ImageBatch(IMAGE, POSITIONS),
    ),
    "JMVAE": (partial(JMVAE, (1, 8, 8), SYMBOLS, 3, *NETWORKS, hidden=(7,)), DESCRIBED),
    "TELBO": (partial(TELBO, (1, 8, 8), SYMBOLS, 3, *NETWORKS, hidden=(7,)), DESCRIBED),
    "GroundTruthDecoder": (
        partial(GroundTruthDecoder, (1, 8, 8), *FACTORS, NETWORKS[1], one_hot=("y",)),
        ImageBatch(IMAGE, POSITIONS),
    ),
}
"""Objectives other than the VAE, each with a batch."""


@pytest.mark.parametrize("name", OTHERS)
def test_other_objectives(name: str) -> None:
    check_objective(*OTHERS[name])


def save(model: Objective, run: Path) -> str:
    """Writes an untrained objective as a run."""
    runner = pl.Trainer(logger=False, enable_progress_bar=False, accelerator="cpu")
    runner.strategy.connect(model)
    runner.save_checkpoint(run / "last.ckpt")
    return str(run)


@pytest.fixture
def dae(tmp_path: Path) -> str:
    return save(DenoisingAutoencoder((1, 8, 8), *NETWORKS, bottleneck=5), tmp_path / "dae")


ON_RUNS = ("BetaVAEDAE", "Recombinator", "SCAN")


def test_perceptual_vae(dae: str) -> None:
    batch = ImageBatch(IMAGE, POSITIONS)
    check_objective(partial(BetaVAEDAE, (1, 8, 8), 3, *NETWORKS, dae), batch)


def test_symbols_on_a_vision_run(tmp_path: Path) -> None:
    vision = save(VAE((1, 8, 8), 100, 3, *NETWORKS, {"kl": KL}), tmp_path / "vision")
    build = partial(SCAN, (1, 8, 8), SYMBOLS, vision)
    check_objective(build, DESCRIBED)
    scan = save(build(), tmp_path / "scan")
    check_objective(partial(Recombinator, (1, 8, 8), SYMBOLS, scan), DESCRIBED)


def test_every_objective_is_checked_here() -> None:
    own = {plugin.name for plugin in available("objectives") if plugin.distribution == "dislab"}
    assert own == {"VAE", *OTHERS, *ON_RUNS}


COMPILED = """
import tempfile
from functools import partial
import lightning.pytorch as pl
import torch
from dislab.base import CompositionBatch, ImageBatch, SymbolBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.objectives import *
from dislab.regularizers import DIP, KL, CapacityKL, DecomposedKL, TotalCorrelation
from dislab.testing import check_compiles

batch = ImageBatch(torch.rand(6, 1, 8, 8), torch.zeros(6, 2, dtype=torch.int64))
parts = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
for other in (CapacityKL, partial(DIP, kind="II"), DecomposedKL, TotalCorrelation):
    regularizers = {"kl": partial(KL, warmup_steps=10), "other": other}
    check_compiles(partial(VAE, (1, 8, 8), 100, 3, *parts, regularizers), batch)
factors = ("x", "y"), (3, 5)
positions = ImageBatch(torch.rand(6, 1, 8, 8), torch.zeros(6, 2, dtype=torch.int64))
check_compiles(partial(BottleneckGenerator, (1, 8, 8), *factors, parts[1]), positions)
check_compiles(
    partial(GroundTruthDecoder, (1, 8, 8), *factors, parts[1], one_hot=("y",)), positions
)
image, action = torch.rand(6, 1, 8, 8), torch.zeros(6, dtype=torch.int64)
triplets = CompositionBatch(image, image.flip(0), image, positions.factors, action)
for mixing in ("linear", "interpolation", "mlp"):
    names = ("x", "y")
    check_compiles(partial(CompositionVAE, (1, 8, 8), names, 3, *parts, mixing=mixing), triplets)
images = ImageBatch(image, positions.factors)
check_compiles(partial(DenoisingAutoencoder, (1, 8, 8), *parts), images)
run = pl.Trainer(logger=False, enable_progress_bar=False, accelerator="cpu")
with tempfile.TemporaryDirectory() as folder:
    def save(model, name):
        run.strategy.connect(model)
        run.save_checkpoint(f"{folder}/{name}.ckpt")
        return f"{folder}/{name}.ckpt"

    vision = save(VAE((1, 8, 8), 100, 3, *parts, {"kl": KL}), "vision")
    check_compiles(partial(BetaVAEDAE, (1, 8, 8), 3, *parts, vision), images)
    names = ("x=low", "x=high", "y=low")
    symbols = SymbolBatch(image, (torch.rand(6, 3) < 0.5).float(), positions.factors)
    for joint in (JMVAE, TELBO, partial(TELBO, experts=False, joint_decoders=False)):
        check_compiles(partial(joint, (1, 8, 8), names, 3, *parts), symbols)
    check_compiles(partial(SCAN, (1, 8, 8), names, vision), symbols)
    scan = save(SCAN((1, 8, 8), names, vision), "scan")
    check_compiles(partial(Recombinator, (1, 8, 8), names, scan), symbols)
print("compiled")
"""


@pytest.mark.slow
def test_objectives_compile_to_one_graph() -> None:
    """In a process of its own, for the compiler cannot look into type-checked functions."""
    command = [sys.executable, "-W", "ignore", "-c", COMPILED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "compiled\n"


class Forgetful(Encoder):
    """Has a layer that it does not use."""

    def __init__(self, image_shape: tuple[int, int, int], outputs: int) -> None:
        super().__init__()
        self.used = MLPEncoder(image_shape, outputs, hidden=(4,))
        self.idle = nn.Linear(3, 3)

    def forward(self, image: Tensor) -> Tensor:
        vectors: Tensor = self.used(image)
        return vectors


class Leaky(Regularizer):
    """Lets its auxiliary loss pull at the codes."""

    def __init__(self, latent_dim: int, train_size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(latent_dim))

    def forward(self, posterior: Posterior, z: Tensor, draws: Draws, step: Tensor) -> Penalty:
        return Penalty(z.square().mean(), (z * self.weight).square().mean(), {})


def test_the_checks_notice_what_does_not_conform() -> None:
    with pytest.raises(AssertionError, match=r"every parameter, but not idle\.weight, idle\.bias"):
        check_encoder(Forgetful)
    with pytest.raises(AssertionError, match="the auxiliary loss gives z no gradient"):
        check_regularizer(Leaky)
    with pytest.raises(AssertionError, match=r"Nothing is no entry point of dislab\.encoders"):
        check_declared("encoders", ["Nothing"])
