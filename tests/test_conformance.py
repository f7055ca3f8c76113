"""Every built-in part conforms, and the checks notice parts that do not."""

import subprocess
import sys
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dislab.base import Draws, Encoder, ImageBatch, Penalty, Posterior, Regularizer
from dislab.datasets import DSprites
from dislab.decoders import ConvDecoder64, MLPDecoder
from dislab.encoders import ConvEncoder64, MLPEncoder
from dislab.metrics import (
    DCI,
    DCIMIG,
    IRS,
    JEMMIG,
    MCC,
    MIG,
    SAP,
    BetaVAEScore,
    DownstreamAccuracy,
    Explicitness,
    FactorVAEScore,
    GaussianTotalCorrelation,
    InfoMEC,
    MeanPairwiseMI,
    MIGSup,
    Modularity,
    WassersteinCorrelation,
)
from dislab.objectives import VAE
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
METRICS: dict[str, Any] = {
    "BetaVAEScore": [partial(BetaVAEScore, points_train=500, points_test=200)],
    "DCI": [DCI, *(partial(DCI, learner=learner) for learner in ("rf", "lasso", "lassocv"))],
    "DCIMIG": [DCIMIG],
    "DownstreamAccuracy": [
        partial(DownstreamAccuracy, classifier=classifier, labels=(10, 100), tested=150)
        for classifier in ("logistic", "hgbt")
    ],
    "Explicitness": [Explicitness],
    "FactorVAEScore": [FactorVAEScore],
    "GaussianTotalCorrelation": [GaussianTotalCorrelation],
    "IRS": [IRS],
    "InfoMEC": [InfoMEC, partial(InfoMEC, estimator="bins")],
    "JEMMIG": [JEMMIG],
    "MCC": [MCC, partial(MCC, correlation="spearman")],
    "MIG": [MIG],
    "MIGSup": [MIGSup],
    "MeanPairwiseMI": [MeanPairwiseMI],
    "Modularity": [Modularity, partial(Modularity, active_only=True)],
    "SAP": [SAP, partial(SAP, predictor="svc")],
    "WassersteinCorrelation": [WassersteinCorrelation],
}


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


COMPILED = """
import torch
from functools import partial
from dislab.base import ImageBatch
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.objectives import VAE
from dislab.regularizers import DIP, KL, CapacityKL, DecomposedKL, TotalCorrelation
from dislab.testing import check_compiles

batch = ImageBatch(torch.rand(6, 1, 8, 8), torch.zeros(6, 2, dtype=torch.int64))
parts = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
for other in (CapacityKL, partial(DIP, kind="II"), DecomposedKL, TotalCorrelation):
    regularizers = {"kl": partial(KL, warmup_steps=10), "other": other}
    check_compiles(partial(VAE, (1, 8, 8), 100, 3, *parts, regularizers), batch)
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
