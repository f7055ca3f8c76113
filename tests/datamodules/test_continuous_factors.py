"""Selections, hold-outs and correlations of factors that were measured."""

import numpy as np
import pytest

from dislab.datamodules import SingleData
from dislab.datasets import ArrayDataset
from dislab.factors import ContinuousFactorWarning
from dislab.plans.correlation import likelihoods


def points(images: int = 300) -> ArrayDataset:
    generator = np.random.default_rng(0)
    numbers = generator.random((images, 2)) ** 3 * [1.0, 50.0]
    pixels = generator.integers(256, size=(images, 4, 4), dtype=np.uint8)
    with pytest.warns(ContinuousFactorWarning):
        return ArrayDataset(pixels, numbers, names=["x", "y"])


def numbers_of(data: SingleData, split: str) -> np.ndarray:
    return data.dataset.values(data.indices(split))  # type: ignore[arg-type]


def test_ranges_hold_out_and_include() -> None:
    data = SingleData(
        points(), include={"y": {"max": 20.0}}, hold_out={"x": {"min": 0.25}}, validation=0.1
    )
    train, test = numbers_of(data, "train"), numbers_of(data, "test")
    assert train[:, 0].max() < 0.25 <= test[:, 0].min()
    assert max(train[:, 1].max(), test[:, 1].max()) <= 20
    assert len(train) > 50
    assert len(test) > 20


def test_correlations_are_bands_of_numbers_and_not_of_ranks() -> None:
    space = points().factors
    states = np.arange(len(space))
    x, y = space.values(space.positions(states)).T
    weights = likelihoods(space, states, {"factors": ["x", "y"], "strength": 0.1})
    assert weights is not None
    places = (x - x.min()) / np.ptp(x), (y - y.min()) / np.ptp(y)
    assert weights == pytest.approx(np.exp(-((places[0] - places[1]) ** 2) / (2 * 0.1**2)))
