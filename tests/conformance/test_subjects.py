"""The checks say what they take: classes, functions, and where it makes sense objects."""

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from dislab.base import Dataset, Draws, ImageBatch, Metric, Penalty, Posterior, Regularizer
from dislab.codes.bank import CodeBank
from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.factors import Factor, FactorSpace
from dislab.metrics import MIG
from dislab.objectives import VAE
from dislab.predictors import Ridge
from dislab.regularizers import KL
from dislab.testing import (
    check_compiles,
    check_datamodule,
    check_dataset,
    check_declared,
    check_decoder,
    check_encoder,
    check_metric,
    check_objective,
    check_predictor,
    check_regularizer,
)

pytestmark = pytest.mark.slow  # without instrumentation, which refuses wrong objects itself

IMAGES = torch.rand(4, 1, 8, 8, generator=torch.Generator().manual_seed(0))
BATCH = ImageBatch(IMAGES, torch.zeros(4, 1, dtype=torch.int64))
SPACE = FactorSpace((Factor("a", (0.0, 1.0)),))
vae: Any = partial(
    VAE,
    image_shape=(1, 8, 8),
    latent_dim=3,
    encoder=MLPEncoder,
    decoder=MLPDecoder,
    regularizers={"kl": KL},
    train_size=100,
)


class Computed(Metric):
    """Overrides what calls the score."""

    higher_is_better = True

    def compute(self) -> dict[str, Tensor]:
        return {"mine": torch.tensor(0.5)}

    def score(self, bank: CodeBank) -> dict[str, Tensor]:
        return {"mine": torch.tensor(0.5)}


class Folder(Dataset):
    """Has a setting without a default."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    factors = image_shape = prepare = tables = gather = provenance = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("check", "subject", "message"),
    [
        (
            check_dataset,
            Folder,
            r"calls Folder\(\): .*'folder'; write check_dataset\(Folder\(\.\.\.\)",
        ),
        (check_dataset, "DSprites", r"not an object of str; write check_dataset\(MyDataset\("),
        (check_datamodule, SingleData(GaussianBlob()), r"write check_datamodule\(lambda: SingleD"),
        (
            check_datamodule,
            SingleData,
            r"calls SingleData\(\): .*'dataset'; write check_datamodule\(",
        ),
        (check_datamodule, GaussianBlob(), "GaussianBlob is no dislab.base.DataModule"),
        (
            check_regularizer,
            KL(10, 100),
            r"takes a class or .*of KL; write check_regularizer\(KL\)",
        ),
        (check_regularizer, "KL", r"write check_regularizer\(MyRegularizer\)"),
        (
            check_regularizer,
            lambda: KL(10, 100),
            "^<lambda> takes no arguments; it must take latent_dim and train_size",
        ),
        (check_encoder, MLPEncoder((1, 8, 8), 6), r"write check_encoder\(MLPEncoder\)"),
        (check_encoder, MLPDecoder(6, (1, 8, 8)), "MLPDecoder is no dislab.base.Encoder"),
        (check_decoder, MLPDecoder(5, (1, 8, 8)), r"write check_decoder\(MLPDecoder\)"),
        (check_metric, MIG(SPACE), r"write check_metric\(MIG\)"),
        (check_metric, Computed, "Computed implements `score`, not `compute`"),
        (check_predictor, Ridge(5, (0, 3, 0)), r"write check_predictor\(Ridge\)"),
    ],
)
def test_what_a_check_takes_is_said(check: Any, subject: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check(subject)


@pytest.mark.parametrize("check", [check_objective, check_compiles])
@pytest.mark.parametrize(
    ("subject", "batch", "message"),
    [
        (vae(), BATCH, r"not an object of VAE; write check_.*\(lambda: VAE\(\.\.\.\), batch\)"),
        (None, BATCH, r"\(lambda: MyObjective\(\.\.\.\), batch\)"),
        (VAE, BATCH, r"calls VAE\(\): missing a required argument: 'image_shape'; write check_"),
        (MLPEncoder, BATCH, "MLPEncoder is no dislab.base.Objective"),
        (lambda: VAE, BATCH, r"returns the class VAE; return VAE\(\.\.\.\)"),
        (lambda shape: vae(), BATCH, r"calls the function\(\): missing .*'shape'"),
        (vae, None, "one that VAE accepts, ImageBatch, not an object of NoneType"),
    ],
)
def test_what_a_check_of_a_method_takes_is_said(
    check: Any, subject: Any, batch: Any, message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        check(subject, batch)


def test_other_forms_are_taken_where_they_make_sense() -> None:
    for dataset in (GaussianBlob, GaussianBlob(), lambda: GaussianBlob()):
        check_dataset(dataset)
    check_objective(vae, IMAGES)
    check_declared("regularizers", "KL")


class Branching(Regularizer):
    """Computes in a way that the compiler cannot follow."""

    def __init__(self, latent_dim: int, train_size: int, fault: str) -> None:
        super().__init__()
        self.fault = fault

    def forward(self, posterior: Posterior, z: Tensor, draws: Draws, step: Tensor) -> Penalty:
        size = z.abs().sum(1).mean()
        if self.fault == "tensor":
            return size  # type: ignore[return-value]  # as a plug-in may
        if self.fault == "print":
            print("the penalty")
        elif size > 1:
            size = 2 * size
        return Penalty(size, None, {})


@pytest.mark.parametrize("fault", ["print", "branch"])
def test_what_cannot_be_compiled_is_named_with_its_line(
    fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    message = (
        r"^losses of VAE cannot be compiled to a single graph, because of test_subjects\.py, line "
        r"\d+: compute without branches"
    )
    with pytest.raises(AssertionError, match=message):
        check_compiles(partial(vae, regularizers={"own": partial(Branching, fault=fault)}), BATCH)
    assert not [record for record in caplog.records if record.name == "torch.__trace"]


def test_a_mistake_of_a_part_is_its_own_and_not_the_compilers() -> None:
    with pytest.raises(AssertionError, match=r"Branching.*\.Penalty") as refusal:
        check_compiles(
            partial(vae, regularizers={"own": partial(Branching, fault="tensor")}), BATCH
        )
    assert "compile" not in str(refusal.value)
