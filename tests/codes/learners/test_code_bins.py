"""Bins of codes: by hand, and those of scikit-learn."""

import numpy as np
import pytest
import torch
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper

from dislab.codes.learners.code_bins import bin_codes


def test_each_code_has_a_bin_where_there_are_few() -> None:
    bins = bin_codes(np.array([[2.0, 5], [0, 5], [1, 5], [2, 5]]))
    assert bins.number.tolist() == [[2, 0, 1, 2], [0, 0, 0, 0]]
    assert [edges.tolist() for edges in bins.thresholds] == [[0.5, 1.5], []]
    assert bins.bins == 3


def test_sums_of_each_bin_by_hand() -> None:
    bins = bin_codes(np.array([[2.0, 5], [0, 5], [1, 5], [2, 7]]))
    weights = torch.tensor([[1.0, 10], [2, 20], [4, 40], [8, 80]])
    expected = [[[2, 20], [7, 70]], [[4, 40], [8, 80]], [[9, 90], [0, 0]]]
    assert bins.sums(weights).tolist() == expected


def test_the_largest_numbers_have_a_threshold_between_them() -> None:
    largest = float(np.finfo(np.float64).max)
    assert bin_codes(np.array([[largest], [largest / 2]])).number.tolist() == [[1, 0]]


@pytest.mark.parametrize("bins", [255, 16, 2])
@pytest.mark.parametrize("images", [300, 1500])
def test_bins_are_those_of_scikit_learn(bins: int, images: int) -> None:
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(images, 3))
    codes[:, 1] = codes[:, 1].round(1)
    codes[:, 2] = np.where(codes[:, 2] < 1, 0, codes[:, 2])  # quantiles that are the same
    mapper = _BinMapper(n_bins=bins + 1).fit(codes)
    own = bin_codes(codes, bins)
    assert own.number.T.tolist() == mapper.transform(codes).tolist()
    for edges, theirs in zip(own.thresholds, mapper.bin_thresholds_, strict=True):
        np.testing.assert_allclose(edges, theirs, rtol=1e-15)
