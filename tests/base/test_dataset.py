import math
from typing import Any

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
    Isaac3D,
    RobotFingerFiles,
    SmallNORB,
)


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
