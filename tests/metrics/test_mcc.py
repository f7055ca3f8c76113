"""Mean correlation coefficient."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.cross_decomposition import CCA

from dislab.errors import InputError
from dislab.metrics import MCC


@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_equals_the_best_of_all_assignments(correlation: Any, graded: Any) -> None:
    metric = MCC(graded.space, correlation=correlation)
    metric.update(graded.codes, graded.factors)
    result = metric.compute()
    codes, factors = graded.codes.numpy(), graded.factors.numpy().astype(float)
    if correlation == "spearman":
        codes, factors = stats.rankdata(codes, axis=0), stats.rankdata(factors, axis=0)
    table = np.corrcoef(codes.T, factors.T)[:4, 4:]
    best = max(
        np.mean([abs(table[latent, factor]) for factor, latent in enumerate(order)])
        for order in permutations(range(4), 3)
    )
    assert result[f"mcc_{correlation}"].item() == pytest.approx(best, abs=1e-9)
    np.testing.assert_allclose(result[f"mcc_{correlation}_correlation"].numpy(), table, atol=1e-9)


def test_two_factors_cannot_share_a_latent(graded: Any) -> None:
    both = (graded.factors[:, :1] + graded.factors[:, 1:2]).double()
    metric = MCC(graded.space)
    metric.update(torch.cat([both, torch.zeros(450, 2)], dim=1), graded.factors)
    own = metric.compute()["mcc_pearson_per_factor"]
    assert (own > 0.5).sum().item() == 1


def test_factors_without_a_latent_count_zero(graded: Any) -> None:
    metric = MCC(graded.space)
    metric.update(graded.factors[:, :1].double(), graded.factors)
    assert metric.compute()["mcc_pearson"].item() == pytest.approx(1 / 3)


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_an_average_over_pairs_leaves_missing_factors_out(kept: int, graded: Any) -> None:
    codes = graded.factors[:, :kept].double()
    metric = MCC(graded.space, average="pairs")
    metric.update(codes, graded.factors)
    result = metric.compute()
    assert result["mcc_pairs_pearson"].item() == pytest.approx(1.0)
    assert result["mcc_pairs_pearson_per_factor"][kept:].tolist() == [0.0] * (3 - kept)
    if kept > 1:
        assert linear_pairs(graded, codes) == pytest.approx(1.0)


def linear_pairs(graded: Any, codes: torch.Tensor) -> float:
    metric = MCC(graded.space, alignment="linear", average="pairs")
    metric.update(codes, graded.factors)
    return float(metric.compute()["mcc_linear_pairs_pearson"])


def test_further_latents_are_no_pairs(graded: Any) -> None:
    """With more latents than factors both averages are the same."""
    averages = {}
    for average in ("factors", "pairs"):
        metric = MCC(graded.space, average=average)
        metric.update(graded.codes, graded.factors)
        averages[average] = next(iter(metric.compute().values())).item()
    assert averages["factors"] == averages["pairs"]


def test_ranks_see_through_monotone_maps(graded: Any) -> None:
    codes = torch.exp(3 * graded.factors.double())
    values = {}
    for correlation in ("pearson", "spearman"):
        metric = MCC(graded.space, correlation=correlation)
        metric.update(codes, graded.factors)
        values[correlation] = metric.compute()[f"mcc_{correlation}"].item()
    assert values["spearman"] == pytest.approx(1.0)
    assert values["pearson"] < 0.9


def aligned(graded: Any, codes: torch.Tensor, **settings: Any) -> float:
    metric = MCC(graded.space, alignment="linear", **settings)
    metric.update(codes, graded.factors)
    (value,) = metric.compute().values()
    return value.item()


@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_alignment_equals_the_published_procedure(correlation: Any, graded: Any) -> None:
    """Canonical variates of the first part, matched on the last: Khemakhem et al. (2020)."""
    codes, factors = graded.codes.numpy(), graded.factors.numpy().astype(float)
    model = CCA(3, tol=1e-12, max_iter=10_000).fit(codes[:225], factors[:225])
    left, right = model.transform(codes[225:], factors[225:])
    if correlation == "spearman":
        left, right = stats.rankdata(left, axis=0), stats.rankdata(right, axis=0)
    table = np.abs(np.corrcoef(left.T, right.T)[:3, 3:])
    best = max(
        np.mean([table[latent, factor] for factor, latent in enumerate(order)])
        for order in permutations(range(3))
    )
    found = aligned(graded, graded.codes, correlation=correlation, test_fraction=0.5)
    assert found == pytest.approx(best, abs=1e-6)


def test_alignment_undoes_linear_maps(graded: Any) -> None:
    mixing = torch.tensor([[1.0, 2, 0, 1], [0, 1, 1, 1], [3, 0, 1, 0]]).double()
    codes = graded.factors.double() @ mixing
    assert aligned(graded, codes) == pytest.approx(1.0)
    assert aligned(graded, codes[:, :2]) == pytest.approx(2 / 3)  # two latents cannot hold three
    assert aligned(graded, torch.full((450, 2), 0.7)) == 0.0


def test_a_share_of_nothing_is_refused(graded: Any) -> None:
    with pytest.raises(InputError, match=r"test_fraction is 1\.5; it must lie between 0 and 1"):
        MCC(graded.space, alignment="linear", test_fraction=1.5)
