"""Every built-in objective conforms."""

from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch

from dislab.base import (
    ClampedBatch,
    CompositionBatch,
    ImageBatch,
    Objective,
    PairBatch,
    SymbolBatch,
    TransitionBatch,
)
from dislab.decoders import ConvGenerator, MLPDecoder
from dislab.encoders import ConvCritic, MLPEncoder
from dislab.objectives import (
    DCIGN,
    JMVAE,
    SCAN,
    TELBO,
    VAE,
    AdaGVAE,
    AdaMLVAE,
    BetaVAEDAE,
    BottleneckGenerator,
    CompositionVAE,
    DenoisingAutoencoder,
    GroundTruthDecoder,
    InfoGAN,
    InfoWGANGP,
    Recombinator,
)
from dislab.plugins import available
from dislab.regularizers import KL, TotalCorrelation
from dislab.testing import check_objective

SHAPE = (1, 8, 8)
NETWORKS = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
GAME = (
    partial(ConvGenerator, channels=(4, 4), hidden=8),
    partial(ConvCritic, channels=(4, 4), hidden=8),
)
SUPERVISED: Any = SHAPE, 100, 3, *NETWORKS, {"kl": KL, "tc": partial(TotalCorrelation, width=8)}
OF_PAIRS: dict[str, Any] = {"AdaGVAE": AdaGVAE, "AdaMLVAE": AdaMLVAE}
FACTORS = ("x", "y"), (3, 5)
SYMBOLS = ("x=low", "x=high", "y=low")
JOINT = SHAPE, SYMBOLS, 3, *NETWORKS, (7,)

IMAGE = torch.rand(6, *SHAPE, generator=torch.Generator().manual_seed(0))
OTHER = IMAGE.flip(0)
POSITIONS = torch.tensor([[0, 4], [1, 0], [2, 2], [0, 1], [1, 3], [2, 4]])
CHANGED = POSITIONS.roll(1, 0) != POSITIONS
NUMBER = POSITIONS[:, 1] % 2
IMAGES = ImageBatch(IMAGE, POSITIONS)
PAIRS = PairBatch(IMAGE, OTHER, POSITIONS, POSITIONS.roll(1, 0), CHANGED)
TRANSITIONS = TransitionBatch(*PAIRS, NUMBER)
CLAMPED = ClampedBatch(IMAGE, POSITIONS, torch.ones_like(NUMBER))
TRIPLETS = CompositionBatch(IMAGE, OTHER, IMAGE.roll(1, 0), POSITIONS, NUMBER)
NAMED = torch.tensor([[1.0, 0, 0], [0, 1, 1], [0, 0, 1]]).repeat(2, 1)
DESCRIBED = SymbolBatch(IMAGE, NAMED, POSITIONS)


def likelihoods(build: Any) -> list[Any]:
    return [build, *(partial(build, likelihood=one) for one in ("gaussian", "discretized"))]


OBJECTIVES: dict[str, tuple[list[Any], list[Any]]] = {
    **{
        name: (
            [
                *likelihoods(partial(method, *SUPERVISED)),
                partial(method, *SUPERVISED, kl="forward", labels="known"),
            ],
            [PAIRS, TRANSITIONS],
        )
        for name, method in OF_PAIRS.items()
    },
    "BottleneckGenerator": (
        likelihoods(partial(BottleneckGenerator, SHAPE, *FACTORS, NETWORKS[1])),
        [IMAGES],
    ),
    "CompositionVAE": (
        [
            *likelihoods(partial(CompositionVAE, SHAPE, ("x", "y"), 3, *NETWORKS)),
            *(
                partial(CompositionVAE, SHAPE, ("x", "y"), 3, *NETWORKS, mixing=mixing)
                for mixing in ("interpolation", "mlp")
            ),
        ],
        [TRIPLETS],
    ),
    "DCIGN": (
        likelihoods(
            partial(DCIGN, SHAPE, 100, ("a", "b"), {"b": 1, "a": 2}, *NETWORKS, {"kl": KL})
        ),
        [CLAMPED],
    ),
    "DenoisingAutoencoder": (
        likelihoods(partial(DenoisingAutoencoder, SHAPE, *NETWORKS, bottleneck=5)),
        [IMAGES],
    ),
    "GroundTruthDecoder": (
        likelihoods(partial(GroundTruthDecoder, SHAPE, *FACTORS, NETWORKS[1], one_hot=("y",))),
        [IMAGES],
    ),
    "InfoGAN": (
        [partial(InfoGAN, SHAPE, *GAME, std=std) for std in ("fixed", "learned")],
        [IMAGES],
    ),
    "InfoWGANGP": (
        [partial(InfoWGANGP, SHAPE, *GAME, std=std) for std in ("fixed", "learned")],
        [IMAGES],
    ),
    "JMVAE": (likelihoods(partial(JMVAE, *JOINT)), [DESCRIBED]),
    "TELBO": (
        [
            *likelihoods(partial(TELBO, *JOINT)),
            *likelihoods(partial(TELBO, *JOINT, experts=False, joint_decoders=False)),
        ],
        [DESCRIBED],
    ),
    "VAE": (likelihoods(partial(VAE, *SUPERVISED)), [IMAGES]),
}
"""Ways to build each objective, and batches that it learns from."""
ON_RUNS = {"BetaVAEDAE", "Recombinator", "SCAN"}


def test_every_declared_objective_is_checked_here() -> None:
    own = {plugin.name for plugin in available("objectives") if plugin.distribution == "dislab"}
    assert own == {*OBJECTIVES, *ON_RUNS}


@pytest.mark.parametrize(
    ("build", "batch"),
    [
        pytest.param(build, batch, id=f"{name}-{number}-{type(batch).__name__}")
        for name, (builds, batches) in OBJECTIVES.items()
        for number, build in enumerate(builds)
        for batch in batches
    ],
)
def test_objectives(build: Any, batch: Any) -> None:
    check_objective(build, batch)


def save(model: Objective, run: Path) -> str:
    """Writes an untrained objective as a run."""
    runner = pl.Trainer(logger=False, enable_progress_bar=False, accelerator="cpu")
    runner.strategy.connect(model)
    runner.save_checkpoint(run / "last.ckpt")
    return str(run)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_a_vae_on_a_run_of_an_autoencoder(likelihood: Any, tmp_path: Path) -> None:
    dae = save(DenoisingAutoencoder(SHAPE, *NETWORKS, bottleneck=5), tmp_path / "dae")
    check_objective(partial(BetaVAEDAE, SHAPE, 3, *NETWORKS, dae, likelihood=likelihood), IMAGES)


def test_symbols_on_a_vision_run(tmp_path: Path) -> None:
    vision = save(VAE(SHAPE, 100, 3, *NETWORKS, {"kl": KL}), tmp_path / "vision")
    build = partial(SCAN, SHAPE, SYMBOLS, vision)
    check_objective(build, DESCRIBED)
    scan = save(build(), tmp_path / "scan")
    check_objective(partial(Recombinator, SHAPE, SYMBOLS, scan), DESCRIBED)
