import math
from typing import Any

import lightning.pytorch as pl
import pytest

from dislab.base import Dataset
from dislab.datasets import (
    MNIST,
    MPI3D,
    Cars3D,
    CelebA,
    Chairs3D,
    DSprites,
    Falcor3D,
    GaussianBlob,
    Isaac3D,
    RobotFingerFiles,
    SmallNORB,
)
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.errors import InputError
from dislab.objectives import VAE
from dislab.regularizers import KL


def test_what_is_not_stated_is_said_to_be_so() -> None:
    assert (Dataset.licence, Dataset.citation, Dataset.size) == ("unstated", "", None)


@pytest.mark.parametrize(
    "dataset",
    [
        MNIST,
        MPI3D,
        Cars3D,
        CelebA,
        Chairs3D,
        DSprites,
        Falcor3D,
        Isaac3D,
        RobotFingerFiles,
        SmallNORB,
    ],
)
def test_published_sets_say_whom_to_cite_and_under_what_terms(dataset: type[Dataset]) -> None:
    assert "http" in dataset.citation
    assert dataset.licence


@pytest.mark.parametrize(
    ("dataset", "images"),
    [
        (MPI3D(), 1_036_800),
        (Cars3D(), 17_568),
        (SmallNORB(), 48_600),
        (Chairs3D(), 86_366),
        (MNIST(), 70_000),
        (CelebA(), 202_599),
        (Isaac3D(), 737_280),
        (Falcor3D(), 233_280),
    ],
)
def test_stated_size_is_that_of_the_pixels(dataset: Any, images: int) -> None:
    assert dataset.size == images * math.prod(dataset.image_shape)


def test_stated_size_of_packed_pixels() -> None:
    header = 128
    assert DSprites.size == len(DSprites().factors) * 64 * 64 // 8 + header


@pytest.mark.filterwarnings("ignore:You defined a `validation_step`")  # of Lightning, before
@pytest.mark.parametrize("stage", ["fit", "validate", "test", "predict"])
def test_a_data_set_in_place_of_a_data_module_is_refused_in_words(stage: str) -> None:
    model = VAE((1, 8, 8), 100, 2, MLPEncoder, MLPDecoder, {"kl": KL})
    trainer = pl.Trainer(
        max_steps=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    message = "GaussianBlob is a data set, .* dislab.datamodules.SingleData makes one of a data set"
    with pytest.raises(InputError, match=message):
        getattr(trainer, stage)(model, GaussianBlob(places=4))
