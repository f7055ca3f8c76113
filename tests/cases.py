"""The built-in parts with the settings that tests build them with.

Conformance, compiling, feed, GPU and simulated tests take their cases from here. A part that
`SETTINGS` does not name has one case: its default settings. Give it a line there for other settings
that deserve a test, for required ones, or for smaller ones that make the tests shorter.
"""

import inspect
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

import lightning.pytorch as pl
import pytest
import torch

from dislab.base import (
    ClampedBatch,
    CompositionBatch,
    Dataset,
    ImageBatch,
    ImageShape,
    LabelledImages,
    Objective,
    PairBatch,
    SymbolBatch,
    TransitionBatch,
)
from dislab.plugins import available, load

Settings = Mapping[str, Any]


SHAPE = (1, 8, 8)
"""The size of the images in the batches below."""


class Run(NamedTuple):
    """Stands for the folder of a run of an objective, untrained; `ready` makes it."""

    objective: str


def each(group: str, name: str, setting: str) -> list[Settings]:
    """A case for each value that the type of a setting allows."""
    annotation = inspect.signature(load(group, name)).parameters[setting].annotation
    return [{setting: one} for one in get_args(annotation)]


FEW: dict[str, Any] = {"few_labels": {"count": 20}}

SETTINGS: dict[str, dict[str, Iterable[Settings]]] = {
    "encoders": {
        "ConvEncoder64": each("encoders", "ConvEncoder64", "preset"),
        "ConvCritic": [{"channels": (4, 8), "hidden": 8}],
        "MLPEncoder": [{"hidden": (8,)}],
        "TimmEncoder": [],  # needs timm: tests/timm
    },
    "decoders": {
        "ConvDecoder64": each("decoders", "ConvDecoder64", "preset"),
        "ConvGenerator": [{"channels": (8, 4), "hidden": 8}],
        "MLPDecoder": [{"hidden": (8,)}],
        "SpatialBroadcastDecoder": [{"channels": (8, 8)}],
    },
    "regularizers": {
        "DIP": [{"kind": "I"}, {"kind": "II"}],
        "LabelFit": each("regularizers", "LabelFit", "loss"),
        "DecomposedKL": [{"form": "sampled"}, {"form": "analytic"}],
        "KL": [{}, {"warmup_steps": 10}],
        "TotalCorrelation": [{"width": 8, "depth": 1, "batches": one} for one in ("one", "two")],
    },
    "objectives": {
        "AdaGVAE": [{}, {"kl": "forward", "labels": "known"}],
        "AdaMLVAE": [{}, {"kl": "forward", "labels": "known"}],
        "CompositionVAE": each("objectives", "CompositionVAE", "mixing"),
        "DenoisingAutoencoder": [{"bottleneck": 5}],
        "GroundTruthDecoder": [{"one_hot": ("y",)}],
        "InfoGAN": [{"std": "fixed"}, {"std": "learned"}],
        "InfoWGANGP": [{"std": "fixed"}, {"std": "learned"}],
        "JMVAE": [{"hidden": (7,)}],
        "TELBO": [{"hidden": (7,)}, {"hidden": (7,), "experts": False, "joint_decoders": False}],
        "VAE": [{}, {"input_noise": (0.1, 0.1)}],
    },
    "datamodules": {
        "ClampedData": [
            {"groups": lambda names: {"a": [names[1]], "b": [*names[2:]]}, **few}
            for few in ({}, FEW)
        ],
        "CompositionData": [{}, FEW],
        "SingleData": [{}, FEW, {"few_labels": {"count": None, "bins": 2}}],
        "PairedData": [{}, {"scheme": "uniform"}, FEW],
        "SymbolData": [{}, {"examples_per_concept": 2}],
    },
    "datasets": {
        "ColorDSprites": [{}, {"hues": 3}],
        "FolderDataset": [],  # needs a folder
        "HuggingFaceDataset": [],  # needs a file
        "NumpyDataset": [],  # needs a file
        "ParametricChairs": [],  # takes minutes to render: its own test draws a few
        "ParametricHeads": [{"identities": 2, "azimuths": 2, "elevations": 2, "lights": 2}],
        "RobotFinger": [{"states": 64}],
        "RobotFingerPseudoReal": [],  # takes minutes to render: test_robot_finger draws a few
        "Shapes3D": [],  # takes minutes to render: its own test draws a few
        "TorchDataset": [],  # needs a data set
    },
    "metrics": {
        "BetaVAEScore": [{"points_train": 500, "points_test": 200}],
        "BlockMCC": [{}, {"regression": "kernel", "most": 60}],
        "DCIES": [{"capacities": (1, 3)}, {"probe": "rff", "capacities": (4, 8)}],
        "DCI": each("metrics", "DCI", "learner"),
        "DownstreamAccuracy": [
            {"classifier": "logistic", "labels": (10, 100), "tested": 150},
            {"classifier": "hgbt", "labels": (60,), "tested": 150},
        ],
        "Explicitness": each("metrics", "Explicitness", "classifier"),
        # "discrete" refuses the continuous codes of the shared tests: tests/metrics/test_info_mec
        "InfoMEC": [{}, {"estimator": "bins"}],
        "MCC": [{}, {"correlation": "spearman"}, {"alignment": "linear"}],
        "Modularity": [{}, {"active_only": True}],
        "SAP": [{}, {"predictor": "svc"}],
    },
    "predictors": {
        "GradientBoosting": [
            {"engine": one, "rounds": 12, "rate": 0.3} for one in ("histogram", "exact")
        ],
        "MLP": [
            {"layers": one, "width": 32, "steps": 60, "batch_size": 100, "learning_rate": 0.02}
            for one in (1, 3)
        ],
        "NearestNeighbors": [{}, {"k": 1}],
        "RandomForest": [{"trees": 6}],
        "Ridge": [{}, {"penalty": 0.0}],
    },
}
"""Settings by group and class name: one case each, and no case where the reason is given.

A function as setting of a data module is called with the names of the data set's factors.
"""

FILLED: dict[str, Any] = {
    "image_shape": SHAPE,
    "train_size": 100,
    "latent_dim": 3,
    "encoder": partial(load("encoders", "MLPEncoder"), hidden=(8,)),
    "decoder": partial(load("decoders", "MLPDecoder"), hidden=(8,)),
    "critic": partial(load("encoders", "ConvCritic"), channels=(4, 4), hidden=8),
    "generator": partial(load("decoders", "ConvGenerator"), channels=(4, 4), hidden=8),
    "regularizers": {
        "kl": load("regularizers", "KL"),
        "tc": partial(load("regularizers", "TotalCorrelation"), width=8),
    },
    "factor_names": ("x", "y"),
    "factor_sizes": (3, 5),
    "action_names": ("x", "y"),
    "group_names": ("a", "b"),
    "latents": {"b": 1, "a": 2},
    "symbol_names": ("x=low", "x=high", "y=low"),
    "dae": Run("DenoisingAutoencoder"),
    "vision": Run("VAE"),
    "scan": Run("SCAN"),
}
"""Arguments of objectives by their name, so that `SETTINGS` has only those that are its own."""

INCLUDED: Any = {"orientation": {"max": 1.0}, "posX": {"max": 0.3}, "posY": {"min": 0.8}}
"""Few states of dSprites, as the setting `include` of a data module."""

SHAPES: dict[str, ImageShape] = {
    "ResidualEncoder128": (3, 128, 128),
    "ResidualDecoder128": (3, 128, 128),
}
"""Images of networks that do not take grey ones of 64×64 pixels."""

IMAGE = torch.rand(6, *SHAPE, generator=torch.Generator().manual_seed(0))
POSITIONS = torch.tensor([[0, 4], [1, 0], [2, 2], [0, 1], [1, 3], [2, 4]])
NUMBER = POSITIONS[:, 1] % 2
NAMED = torch.tensor([[1.0, 0, 0], [0, 1, 1], [0, 0, 1]]).repeat(2, 1)
PAIRS = PairBatch(
    IMAGE, IMAGE.flip(0), POSITIONS, POSITIONS.roll(1, 0), POSITIONS.roll(1, 0) != POSITIONS
)
BATCHES: dict[type, Any] = {
    type(batch): batch
    for batch in (
        ImageBatch(IMAGE, POSITIONS),
        PAIRS,
        TransitionBatch(*PAIRS[:5], NUMBER),
        ClampedBatch(IMAGE, POSITIONS, torch.ones_like(NUMBER)),
        CompositionBatch(IMAGE, IMAGE.flip(0), IMAGE.roll(1, 0), POSITIONS, NUMBER),
        SymbolBatch(IMAGE, NAMED, POSITIONS),
    )
}
"""A batch of each type that objectives learn from."""

LABELLED = LabelledImages(IMAGE.flip(0), POSITIONS / torch.tensor([2.0, 4.0]))
"""Labelled images for any of these batches."""


def own(group: str) -> list[str]:
    """Names of the parts of a group that dislab itself declares."""
    return [plugin.name for plugin in available(group) if plugin.distribution == "dislab"]


def settings_of(group: str, name: str) -> list[Settings]:
    """The settings of each case of a part; a data set that needs a published file has none."""
    if group == "datasets" and name not in SETTINGS[group]:
        arguments = inspect.signature(load(group, name)).parameters
        return [] if "path" in arguments and "source" not in arguments else [{}]
    return list(SETTINGS[group].get(name, [{}]))


def builds(group: str, name: str) -> list[Any]:
    """Builders of a part, one a case; an objective's other arguments are filled in."""
    cls = load(group, name)
    shared = inspect.signature(cls).parameters.keys() & FILLED if group == "objectives" else ()
    filled = {key: FILLED[key] for key in shared}
    return [partial(cls, **{**filled, **settings}) for settings in settings_of(group, name)]


def cases(group: str) -> list[Any]:
    """A pytest parameter for each case of a group, called `Name-number`: what makes the part."""
    return [
        pytest.param(build, id=f"{name}-{number}")
        for name in own(group)
        for number, build in enumerate(builds(group, name))
    ]


def networks(group: str) -> list[Any]:
    """Pytest parameters for encoders or decoders: what makes the network, and its images' shape."""
    return [
        pytest.param(build, SHAPES.get(name, (1, 64, 64)), id=f"{name}-{number}")
        for name in own(group)
        for number, build in enumerate(builds(group, name))
    ]


def datamodules() -> list[Any]:
    """Pytest parameters for data modules: functions of a data set and of further settings."""
    return [
        pytest.param(partial(_on, build), id=f"{name}-{number}")
        for name in own("datamodules")
        for number, build in enumerate(builds("datamodules", name))
    ]


def _on(build: Any, dataset: Dataset, **settings: Any) -> Any:
    """A data module whose settings may follow from the names of its data set's factors."""
    names = dataset.factors.names
    found = {key: one(names) if callable(one) else one for key, one in build.keywords.items()}
    return build.func(dataset, **{**found, **settings})


def objectives(likelihoods: bool = True) -> list[Any]:
    """Pytest parameters for objectives: what makes one, and a batch of each type that it takes.

    Args:
        likelihoods: Whether the first case of each comes with every likelihood of its class.
    """
    found = []
    for name in own("objectives"):
        first, *others = builds("objectives", name)
        parameter = inspect.signature(first.func).parameters.get("likelihood")
        choices = get_args(parameter.annotation) if parameter and likelihoods else ()
        ways = [partial(first, likelihood=one) for one in choices] or [first]
        found += [
            pytest.param(build, BATCHES[kind], id=f"{name}-{number}-{kind.__name__}")
            for number, build in enumerate([*ways, *others])
            for kind in first.func.batch_types
        ]
    return found


def ready(build: Any, folder: Path) -> Any:
    """The builder of an objective, with the runs that it starts from written into a folder."""
    runs = {key: one for key, one in build.keywords.items() if isinstance(one, Run)}
    return partial(build, **{key: _written(one, folder) for key, one in runs.items()})


def _written(run: Run, folder: Path) -> str:
    """The folder of an untrained run."""
    path = folder / run.objective
    if not path.exists():
        [first, *_] = builds("objectives", run.objective)
        save(ready(first, folder)(), path)
    return str(path)


def save(model: Objective, run: Path) -> None:
    """Writes an untrained objective as a run."""
    runner = pl.Trainer(logger=False, enable_progress_bar=False, accelerator="cpu")
    runner.strategy.connect(model)
    runner.save_checkpoint(run / "last.ckpt")
