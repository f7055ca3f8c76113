"""Interventional robustness, against a loop over values."""

from typing import Any

import numpy as np
import pytest
import torch

from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.metrics import IRS, evaluate_fully
from dislab.metrics.irs import held_deviations


def test_equals_a_loop(graded: Any) -> None:
    metric = IRS(graded.space)
    metric.update(graded.codes, graded.factors)
    result = metric.compute()
    codes, factors = graded.codes.numpy(), graded.factors.numpy()
    largest = np.abs(codes - codes.mean(0)).max(0)
    matrix = np.zeros((4, 3))
    for factor in range(3):
        held = []
        for value in np.unique(factors[:, factor]):
            own = codes[factors[:, factor] == value]
            held.append(np.percentile(np.abs(own - own.mean(0)), 99, axis=0))
        matrix[:, factor] = 1 - np.mean(held, axis=0) / largest
    np.testing.assert_allclose(result["irs_matrix"].numpy(), matrix, atol=1e-9)
    expected = np.average(matrix.max(1), weights=largest)
    assert result["irs"].item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("bins", [20, 5, None])
def test_factors_are_binned_as_in_the_published_code(bins: int | None) -> None:
    generator = torch.Generator().manual_seed(0)
    factors = torch.stack(
        [torch.randint(size, (900,), generator=generator) for size in (3, 20, 32)], dim=1
    )
    codes = factors.double() + torch.randn(900, 3, generator=generator, dtype=torch.float64)
    space = FactorSpace(
        tuple(
            Factor(name, tuple(map(float, range(size))))
            for name, size in zip("abc", (3, 20, 32), strict=True)
        )
    )
    metric = IRS(space, bins=bins)
    metric.update(codes, factors)
    array, largest = codes.numpy(), (codes - codes.mean(0)).abs().amax(0).numpy()
    for column, own in zip(factors.numpy().T, metric.compute()["irs_matrix"].T, strict=True):
        held = column
        if bins:
            held = np.digitize(column, np.histogram(column, bins)[1][:-1])
        groups = [array[held == value] for value in np.unique(held)]
        away = [np.percentile(np.abs(one - one.mean(0)), 99, axis=0) for one in groups]
        expected = np.clip(1 - np.mean(away, axis=0) / largest, 0, 1)
        np.testing.assert_allclose(own.numpy(), expected, atol=1e-9)


def test_resamples_give_no_interval(graded: Any) -> None:
    """A resample lacks the largest distance too often."""
    found = evaluate_fully(graded.codes, graded.factors, ["IRS", "MIG"], bootstrap=10)
    assert set(found.intervals) == {"mig"}


def test_the_published_number_of_bins_is_the_default(graded: Any) -> None:
    assert IRS(graded.space).bins == 20


def test_by_hand(graded: Any) -> None:
    # held at a=0: codes 0, 1; at a=1: 2, 3; about means 0.5 and 2.5; all about 1.5
    codes = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
    factors = torch.tensor([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]])
    metric = IRS(graded.space, quantile=1.0)
    metric.update(codes, factors)
    with pytest.warns(UserWarning, match="c took one value only"):
        result = metric.compute()
    assert result["irs_matrix"].tolist() == [pytest.approx([2 / 3, 1 / 3, 0.0])]
    assert result["irs"].item() == pytest.approx(2 / 3)


@pytest.mark.parametrize("quantile", [-0.1, 1.1, float("nan")])
def test_bad_quantiles_are_named(quantile: float, graded: Any) -> None:
    with pytest.raises(InputError, match="quantile is"):
        IRS(graded.space, quantile=quantile)


@pytest.mark.parametrize("quantile", [0.0, 0.5, 0.99, 1.0])
def test_deviations_equal_a_loop(quantile: float) -> None:
    codes, column = torch.randn(90, 3, dtype=torch.float64), torch.randint(4, (90,))
    parts = []
    for value in np.unique(column):
        own = codes[column == value].numpy()
        distances = np.abs(own - own.mean(0))
        parts.append(np.percentile(distances, 100 * quantile, axis=0))
    expected = torch.from_numpy(np.mean(parts, axis=0))
    torch.testing.assert_close(held_deviations(codes, column, quantile), expected)


def test_deviations_by_hand() -> None:
    codes = torch.tensor([[0.0], [4.0], [10.0]], dtype=torch.float64)
    # value 3: distances 2 and 2; value 5: 0
    assert held_deviations(codes, torch.tensor([3, 3, 5]), 1.0).tolist() == [1.0]
