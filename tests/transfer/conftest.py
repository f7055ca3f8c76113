"""A space of four factors, and codes that are its values."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Predictor
from dislab.factors import Factor, FactorSpace

SPACE = FactorSpace(
    (
        Factor("hue", (0.0, 90.0, 180.0, 270.0), "circular", "deg", 360.0),
        Factor("x", (-2.0, 0.0, 2.0)),
        Factor("y", (10.0, 20.0)),
        Factor("shape", ("cube", "ball"), "categorical"),
    )
)


class Images(NamedTuple):
    codes: npt.NDArray[np.float64]
    factors: npt.NDArray[np.int64]
    space: FactorSpace


@pytest.fixture
def space() -> FactorSpace:
    return SPACE


@pytest.fixture
def images() -> Images:
    """2,400 images, all states fifty times; the codes are the values of the four factors."""
    factors = np.tile(SPACE.positions(np.arange(len(SPACE))), (50, 1))
    return Images(SPACE.values(factors), factors, SPACE)


class Means(Predictor):
    """Predicts the mean of the training targets, and of kinds class 1."""

    fitted: list[tuple[int, ...]]

    def __init__(self, latent_dim: int, classes: tuple[int, ...], shift: float = 0.0) -> None:
        self.classes = classes
        self.shift = shift
        self.mean = torch.zeros(0)

    def fit(
        self, codes: Float[Tensor, "run image latent"], targets: Float[Tensor, "image factor"]
    ) -> None:
        kinds = torch.tensor([count > 0 for count in self.classes])
        self.mean = torch.where(kinds, 1.0, targets.mean(0) + self.shift)
        FITTED.append(tuple(codes.shape))

    def predict(
        self, codes: Float[Tensor, "run image latent"]
    ) -> Float[Tensor, "run image factor"]:
        return self.mean.expand(codes.shape[0], codes.shape[1], -1).to(codes)


FITTED: list[tuple[int, ...]] = []


@pytest.fixture
def fitted() -> list[tuple[int, ...]]:
    """Shapes of the codes that `Means` has learnt from since the test began."""
    FITTED.clear()
    return FITTED


@pytest.fixture
def means() -> Any:
    return Means
