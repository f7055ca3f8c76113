"""Mutual information from neighbours, against scikit-learn and the truth."""

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.special import digamma
from sklearn.feature_selection import mutual_info_classif

from dislab.codes.information import neighbour_information
from dislab.functional.random import host_generator


def estimated(codes: NDArray[np.float64], labels: NDArray[np.int64], neighbours: int) -> float:
    """Ross' estimator, one image at a time."""
    counts = np.bincount(labels)[labels]
    kept = counts > 1
    codes, labels, counts = codes[kept], labels[kept], counts[kept]
    near, within = np.minimum(neighbours, counts - 1), []
    for code, label, k in zip(codes, labels, near, strict=True):
        reach = np.sort(np.abs(codes[labels == label] - code))[k]
        within.append((np.abs(codes - code) < reach).sum())
    mean = digamma(near).mean() - digamma(counts).mean() - digamma(within).mean()
    return max(float(digamma(len(codes)) + mean), 0.0)


@pytest.mark.parametrize("neighbours", [1, 3, 10])
def test_equals_a_loop_and_nearly_scikit_learn(neighbours: int) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=300)
    labels[:12] = np.repeat([4, 5, 6, 6], 3)  # values that few images have
    labels[0] = 7  # and one that a single image has
    codes = np.stack([labels + rng.normal(size=300), rng.normal(size=300) ** 3], axis=1)
    own = neighbour_information(
        torch.from_numpy(codes), torch.from_numpy(labels), neighbours, host_generator(0)
    )
    expected = [estimated(column, labels, neighbours) for column in codes.T]
    assert own.tolist() == pytest.approx(expected, abs=1e-9)
    # there rounding lets some of the k-th neighbours into the count
    theirs = mutual_info_classif(
        codes, labels, discrete_features=False, n_neighbors=neighbours, random_state=0
    )
    assert own.tolist() == pytest.approx(theirs.tolist(), abs=5e-3)


def test_equal_codes_give_the_whole_entropy() -> None:
    labels = torch.arange(900) % 3
    codes = torch.stack([labels.double(), torch.full((900,), 0.1).double()], dim=1)
    own = neighbour_information(codes, labels, 3, host_generator(1))
    assert own[0].item() == pytest.approx(math.log(3), abs=0.02)
    assert own[1].item() == 0.0


def test_two_shifted_uniforms() -> None:
    # overlap of one half: half of the images have one bit, the others none
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(8000) % 2
    codes = torch.rand(8000, 1, generator=generator, dtype=torch.float64) + 0.5 * labels[:, None]
    own = neighbour_information(codes, labels, 3, host_generator(0)).item()
    assert own == pytest.approx(math.log(2) / 2, abs=0.02)


def test_values_with_one_image_each_tell_nothing() -> None:
    own = neighbour_information(torch.randn(5, 2).double(), torch.arange(5), 3, host_generator(0))
    assert own.tolist() == [0.0, 0.0]
