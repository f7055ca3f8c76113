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
    ImageShape,
    Metric,
    Objective,
    Penalty,
    Posterior,
    Regularizer,
    SymbolBatch,
)
from dislab.datamodules import (
    ClampedData,
    CompositionData,
    PairedData,
    SingleData,
    SymbolData,
    TransitionData,
)
from dislab.datasets import (
    ArrayDataset,
    ColorDSprites,
    DSprites,
    GaussianBlob,
    NoisyDSprites,
    ParametricHeads,
    RobotFinger,
    ScreamDSprites,
)
from dislab.decoders import (
    ConvDecoder64,
    ConvGenerator,
    MLPDecoder,
    ResidualDecoder128,
    SpatialBroadcastDecoder,
)
from dislab.encoders import ConvCritic, ConvEncoder64, MLPEncoder, ResidualEncoder128
from dislab.factors import FactorSpace
from dislab.functional.code_bank import CodeBank
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
    InfoGAN,
    InfoWGANGP,
    Recombinator,
)
from dislab.plugins import GROUPS, available, load_all
from dislab.regularizers import DIP, KL, CapacityKL, DecomposedKL, TotalCorrelation
from dislab.testing import (
    check_datamodule,
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
    "ConvCritic": [partial(ConvCritic, channels=(4, 8), hidden=8)],
    "MLPEncoder": [partial(MLPEncoder, hidden=(8,))],
    "ResidualEncoder128": [ResidualEncoder128],
    "TimmEncoder": [],  # tests/timm
}
DECODERS: dict[str, Any] = {
    "ConvDecoder64": [partial(ConvDecoder64, preset=p) for p in ("burgess", "locatello", "kim")],
    "ConvGenerator": [partial(ConvGenerator, channels=(8, 4), hidden=8)],
    "MLPDecoder": [partial(MLPDecoder, hidden=(8,))],
    "ResidualDecoder128": [ResidualDecoder128],
    "SpatialBroadcastDecoder": [partial(SpatialBroadcastDecoder, channels=(8, 8))],
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
SHAPES: dict[Any, ImageShape] = {
    ResidualEncoder128: (3, 128, 128),
    ResidualDecoder128: (3, 128, 128),
}
DATAMODULES: dict[str, Any] = {
    "ClampedData": [partial(ClampedData, groups={"place": ["posX", "posY"], "size": ["scale"]})],
    "CompositionData": [CompositionData],
    "PairedData": [PairedData, partial(PairedData, scheme="uniform")],
    "SingleData": [SingleData],
    "SymbolData": [SymbolData, partial(SymbolData, examples_per_concept=2)],
    "TransitionData": [TransitionData],
}
DATASETS: dict[str, Any] = {
    "ColorDSprites": [ColorDSprites, partial(ColorDSprites, hues=3)],
    "DSprites": [DSprites],
    "GaussianBlob": [GaussianBlob],
    "NoisyDSprites": [NoisyDSprites],
    "ParametricHeads": [partial(ParametricHeads, 2, 2, 2, 2)],
    "RobotFinger": [partial(RobotFinger, states=64)],
    "ScreamDSprites": [ScreamDSprites],
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
        ("datamodules", DATAMODULES),
    ],
)
def test_every_declared_part_is_checked_here(group: str, parts: dict[str, Any]) -> None:
    own = {plugin.name for plugin in available(group) if plugin.distribution == "dislab"}
    assert own == set(parts)


@pytest.mark.parametrize("build", cases(ENCODERS))
def test_encoders(build: Any) -> None:
    check_encoder(build, SHAPES.get(build, (1, 64, 64)))


@pytest.mark.parametrize("build", cases(DECODERS))
def test_decoders(build: Any) -> None:
    check_decoder(build, image_shape=SHAPES.get(build, (1, 64, 64)))


@pytest.mark.parametrize("build", cases(REGULARIZERS))
def test_regularizers(build: Any) -> None:
    check_regularizer(build)


@pytest.mark.parametrize("build", cases(METRICS))
def test_metrics(build: Any) -> None:
    check_metric(build)


SMALL: Any = {"orientation": {"max": 1.0}, "posX": {"max": 0.3}, "posY": {"min": 0.8}}


@pytest.mark.parametrize("hold_out", [None, {"shape": "heart", "scale": {"max": 0.75}}])
@pytest.mark.parametrize("build", cases(DATAMODULES))
def test_datamodules(build: Any, hold_out: Any) -> None:
    settings = {"include": SMALL, "hold_out": hold_out, "validation": 0.1, "test": 0.2}
    check_datamodule(partial(build, DSprites(), batch_size=16, **settings))


@pytest.mark.parametrize("build", cases(DATASETS))
def test_datasets(build: Any) -> None:
    check_dataset(build())


def test_datasets_of_the_users_own() -> None:
    images = torch.arange(48, dtype=torch.uint8).view(3, 1, 4, 4).numpy()
    check_dataset(ArrayDataset(images, [[0, 1], [1, 1], [1, 0]]))


KNOWN_BEFOREHAND = sorted(
    {plugin.name for plugin in available("datasets") if plugin.distribution == "dislab"}
    - {"ArrayDataset", "CelebA", "FolderDataset", "RobotFingerFiles"}
)
"""Data sets whose states are known without their files."""


@pytest.mark.parametrize("name", KNOWN_BEFOREHAND)
def test_what_data_list_says_of_a_data_set_is_true(name: str) -> None:
    """The texts are read from the source, where nothing else compares them with the class."""
    [plugin] = [plugin for plugin in available("datasets") if plugin.name == name]
    dataset = load_all(("datasets",))["datasets"][name]()
    channels, height, width = dataset.image_shape
    factors = ", ".join(f"{factor.name} {len(factor)}" for factor in dataset.factors.factors)
    contents = f"{len(dataset.factors):,} images {height}×{width}×{channels}: {factors}"
    assert plugin.constants["contents"] == contents
    assert plugin.constants["licence"]


def test_every_data_set_has_a_line_in_data_list() -> None:
    for plugin in available("datasets"):
        assert plugin.constants["contents"]
        assert plugin.constants["licence"]
        assert "cache" in plugin.constants


@pytest.mark.parametrize("game", [InfoGAN, InfoWGANGP])
def test_games(game: Any) -> None:
    generator = partial(ConvGenerator, channels=(4, 4), hidden=8)
    critic = partial(ConvCritic, channels=(4, 4), hidden=8)
    image = torch.rand(6, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    batch = ImageBatch(image, torch.zeros(6, 2, dtype=torch.int64))
    check_objective(partial(game, (1, 8, 8), generator, critic), batch)


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
    assert own == {
        "VAE",
        "InfoGAN",
        "InfoWGANGP",
        "AdaGVAE",
        "AdaMLVAE",
        "DCIGN",
        *OTHERS,
        *ON_RUNS,
    }


COMPILED = """
import tempfile
from functools import partial
import lightning.pytorch as pl
import torch
from dislab.base import ClampedBatch, CompositionBatch, ImageBatch, PairBatch, SymbolBatch
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
for game in (InfoGAN, InfoWGANGP):
    check_compiles(partial(game, (1, 8, 8), *reversed(parts)), batch)
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
regularizers = {"kl": KL, "tc": TotalCorrelation}
noise = {"likelihood": "discretized", "input_noise": (0.1, 0.1)}
pair = PairBatch(batch.image, batch.image.flip(0), batch.factors, batch.factors, batch.factors > 0)
for method in (AdaGVAE, AdaMLVAE):
    for labels in ("none", "known"):
        build = partial(method, (1, 8, 8), 100, 3, *parts, regularizers, labels=labels, **noise)
        check_compiles(build, pair)
groups = ("a", "b")
clamped = ClampedBatch(batch.image, batch.factors, torch.ones(6, dtype=torch.int64))
latents = {"b": 1, "a": 2}
check_compiles(partial(DCIGN, (1, 8, 8), 100, groups, latents, *parts, regularizers), clamped)
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


class Shut(Encoder):
    """Opens a gate that begins at zero, or never, by `opens`."""

    def __init__(self, image_shape: ImageShape, outputs: int, opens: bool) -> None:
        super().__init__()
        self.behind = MLPEncoder(image_shape, outputs, hidden=(4,))
        self.before = MLPEncoder(image_shape, outputs, hidden=(4,))
        self.gate = nn.Parameter(torch.zeros(()), requires_grad=opens)

    def forward(self, image: Tensor) -> Tensor:
        vectors: Tensor = self.before(image) + self.gate * self.behind(image)
        return vectors


class Leaky(Regularizer):
    """Lets its auxiliary loss pull at the codes."""

    def __init__(self, latent_dim: int, train_size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(latent_dim))

    def forward(self, posterior: Posterior, z: Tensor, draws: Draws, step: Tensor) -> Penalty:
        return Penalty(z.square().mean(), (z * self.weight).square().mean(), {})


def test_a_gate_may_begin_at_zero_but_must_open() -> None:
    check_encoder(partial(Shut, opens=True))
    with pytest.raises(AssertionError, match=r"every parameter, but not gate, behind"):
        check_encoder(partial(Shut, opens=False))


class Restarting(SingleData):  # type: ignore[misc]
    """Forgets how far training has come."""

    def state_dict(self) -> dict[str, int]:
        return {**super().state_dict(), "step": 0}


class Mutable(Metric):
    """Breaks the rule that its setting names."""

    higher_is_better = True
    plot_upper_bound = 1.0

    def __init__(self, space: FactorSpace, fault: str) -> None:
        super().__init__(space)
        self.fault = fault

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        spread = bank.codes.std(0).mean() if len(bank) > 1 else torch.tensor(0.5)
        if self.fault == "bank":
            bank.codes[0] = 0.0
        if self.fault == "nan":
            return {"value": (bank.codes.std(0) / bank.codes.std(0)).mean()}
        if self.fault == "draw":
            return {"value": torch.rand(2)[0] * 0 + 0.5}
        return {"value": spread * 1e9 if self.fault == "bounds" else torch.tensor(0.5)}


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("bank", "score leaves the codes of the bank alone"),
        ("nan", "latents that stand still do not make a scalar NaN, but value is"),
        ("draw", "score draws from a generator of its own"),
        ("bounds", "value is at most 1.0, not"),
    ],
)
def test_the_checks_notice_scores_that_do_not_conform(fault: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_metric(partial(Mutable, fault=fault), images=400)


def test_the_checks_notice_what_does_not_conform() -> None:
    with pytest.raises(AssertionError, match=r"every parameter, but not idle\.weight, idle\.bias"):
        check_encoder(Forgetful)
    with pytest.raises(AssertionError, match="the auxiliary loss gives z no gradient"):
        check_regularizer(Leaky)
    with pytest.raises(AssertionError, match="a resumed run continues the draws"):
        check_datamodule(lambda: Restarting(DSprites(), batch_size=8, include=SMALL))
    with pytest.raises(AssertionError, match=r"Nothing is no entry point of dislab\.encoders"):
        check_declared("encoders", ["Nothing"])
