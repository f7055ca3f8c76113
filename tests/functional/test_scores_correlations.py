"""Correlations, ranks and areas under curves, against scikit-learn and scipy."""

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.metrics import roc_auc_score

from dislab.functional.correlations import average_ranks, pearson, roc_auc


def test_correlations_equal_numpys() -> None:
    codes = torch.randn(60, 3, dtype=torch.float64) * torch.tensor([1, 100, 0.01]) + 5
    factors = torch.randint(4, (60, 2)).double() + codes[:, :1]
    expected = np.corrcoef(codes.numpy().T, factors.numpy().T)[:3, 3:]
    np.testing.assert_allclose(pearson(codes, factors).numpy(), expected, atol=1e-12)


def test_what_stands_still_correlates_with_nothing() -> None:
    codes = torch.stack([torch.full((50,), 0.1), torch.arange(50.0)], dim=1).double()
    factors = torch.stack([torch.arange(50.0), torch.full((50,), 0.3)], dim=1).double()
    expected = torch.tensor([[0.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(pearson(codes, factors), expected)


def test_ranks_equal_scipys() -> None:
    columns = torch.randint(5, (40, 3)).double()
    assert (average_ranks(columns).numpy() == stats.rankdata(columns.numpy(), axis=0)).all()


def test_areas_equal_scikit_learns() -> None:
    scores = torch.randint(6, (80, 2)).double()
    positive = torch.rand(80, 2) < 0.3
    expected = [roc_auc_score(positive[:, one], scores[:, one]) for one in range(2)]
    assert roc_auc(scores, positive).tolist() == pytest.approx(expected, abs=1e-12)


def test_an_area_needs_both_answers() -> None:
    positive = torch.tensor([[True, False, True], [True, False, False]])
    assert roc_auc(torch.tensor([[2.0] * 3, [1.0] * 3]), positive).tolist() == pytest.approx(
        [torch.nan, torch.nan, 1.0], nan_ok=True
    )
