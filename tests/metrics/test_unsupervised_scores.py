"""Scores that need no factors."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.linalg import sqrtm

from dislab.metrics import GaussianTotalCorrelation, WassersteinCorrelation


def test_they_equal_the_published_formulas(graded: Any) -> None:
    moments = np.cov(graded.codes.numpy(), rowvar=False)
    metric: Any = GaussianTotalCorrelation(graded.space)
    metric.update(graded.codes, graded.factors)
    expected = (np.log(np.diag(moments)).sum() - np.linalg.slogdet(moments)[1]) / 2
    result = metric.compute()
    assert result["gaussian_total_correlation"].item() == pytest.approx(expected, abs=1e-9)
    metric = WassersteinCorrelation(graded.space)
    metric.update(graded.codes, graded.factors)
    result = metric.compute()
    root = sqrtm(moments * np.diag(moments)[None]).real
    expected = 2 * np.trace(moments) - 2 * np.trace(root)
    name = "gaussian_wasserstein_correlation"
    assert result[name].item() == pytest.approx(expected, abs=1e-9)
    assert result[f"{name}_normalized"].item() == pytest.approx(expected / np.trace(moments))


def test_the_factors_do_not_matter(graded: Any) -> None:
    for kind in (GaussianTotalCorrelation, WassersteinCorrelation):
        results = []
        for factors in (graded.factors, graded.factors.flip(0)):
            metric: Any = kind(graded.space)
            metric.update(graded.codes, factors)
            results.append(metric.compute())
        for name in results[0]:
            assert torch.equal(results[0][name], results[1][name])
