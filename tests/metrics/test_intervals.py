"""Banks drawn from a bank: the shared tables, and the counts of many draws in one pass."""

import numpy as np
import pytest
import torch

from dislab.codes.bank import CodeBank
from dislab.codes.information import bin_numbers, gaps_of_counts, information_gaps, joint_counts
from dislab.metrics import _intervals as module
from dislab.metrics._intervals import _percentiles, resamples

SIZES = (3, 6, 8)


def bank_of(images: int = 300, latents: int = 4, seed: int = 0) -> CodeBank:
    generator = torch.Generator().manual_seed(seed)
    columns = [torch.randint(size, (images,), generator=generator) for size in SIZES]
    factors = torch.stack(columns, dim=1)
    noise = torch.randn(images, latents, generator=generator, dtype=torch.float64)
    codes = factors.double() @ torch.randn(3, latents, generator=generator).double() + noise
    return CodeBank(codes, factors, torch.ones(3, dtype=torch.bool))


def test_tables_are_those_of_the_codes_and_computed_once() -> None:
    bank = bank_of()
    expected = information_gaps(bank.codes, bank.factors, 7)
    assert torch.equal(bank.information(7).mutual_information, expected.mutual_information)
    assert bank.information(7) is bank.information(7)
    assert bank.counts(7) is bank.counts(7)
    assert torch.equal(bank.binned(7), bin_numbers(bank.codes, 7))
    assert not torch.equal(bank.binned(8), bank.binned(7))
    columns = np.concatenate([bank.codes.numpy(), bank.factors.numpy()], axis=1)
    np.testing.assert_allclose(bank.covariance.numpy(), np.cov(columns.T), rtol=1e-10)
    np.testing.assert_allclose(bank.std.numpy(), columns[:, :4].std(0, ddof=1), rtol=1e-12)
    correlation = np.corrcoef(columns.T)[:4, 4:]
    np.testing.assert_allclose(bank.squared_correlation.numpy(), correlation**2, rtol=1e-9)


def test_what_stands_still_has_neither_spread_nor_correlation() -> None:
    bank = bank_of()
    codes, factors = bank.codes.clone(), bank.factors.clone()
    codes[:, 1], factors[:, 2] = 0.1, 3
    still = CodeBank(codes, factors, torch.tensor([True, True, False]))
    assert still.std[1].item() == 0.0
    assert still.squared_correlation[1].tolist() == [0.0, 0.0, 0.0]
    assert still.squared_correlation[:, 2].tolist() == [0.0] * 4


def test_rows_of_values_are_found() -> None:
    bank = bank_of()
    order, first, size = bank.value_rows(1)
    for value in range(6):
        rows = order[first[value] : first[value] + size[value]]
        assert torch.equal(rows, (bank.factors[:, 1] == value).nonzero().flatten())


def test_drawn_rows_keep_the_bins_of_the_whole_bank() -> None:
    bank = bank_of()
    index = torch.tensor([5, 5, 17, 200, 3])
    drawn = bank.rows(index)
    assert len(drawn) == 5
    assert torch.equal(drawn.codes, bank.codes[index])
    assert torch.equal(drawn.factors, bank.factors[index])
    assert torch.equal(drawn.binned(20), bank.binned(20)[index])
    assert drawn.information(20).mutual_information.shape == (4, 3)
    assert bank.rows(torch.tensor([4, 4])).varied.tolist() == [False, False, False]


@pytest.mark.parametrize("at_once", [2**23, 2500, 1])
def test_information_of_many_draws_is_that_of_each(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "NUMBERS_AT_ONCE", at_once)
    bank = bank_of()
    for drawn in resamples(bank, 9, seed=3):
        own = gaps_of_counts(joint_counts(drawn.binned(20), drawn.factors, 20))
        for name in ("mutual_information", "entropy", "gap"):
            found, expected = getattr(drawn.information(20), name), getattr(own, name)
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


def test_draws_are_uniform_with_replacement_and_repeat_by_seed() -> None:
    bank = bank_of(images=50)
    one, two, other = (list(resamples(bank, 400, seed=seed)) for seed in (1, 1, 2))
    assert all(torch.equal(a.codes, b.codes) for a, b in zip(one, two, strict=True))
    assert not torch.equal(one[0].codes, other[0].codes)
    means = torch.stack([drawn.codes.mean(0) for drawn in one])
    torch.testing.assert_close(means.mean(0), bank.codes.mean(0), rtol=0, atol=0.1)
    expected = bank.codes.std(0, correction=0) / 50**0.5
    torch.testing.assert_close(means.std(0), expected, rtol=0.15, atol=0)


def test_an_interval_has_equal_tails_around_the_value_of_the_images() -> None:
    """Resamples are shifted: their median, here 0.5, is biased."""
    drawn = np.random.default_rng(0).permutation(np.append(np.arange(101) / 100, np.nan))
    assert _percentiles(0.7, drawn, 0.9) == pytest.approx((0.25, 1.15))
    assert _percentiles(0.7, drawn, 0.5) == pytest.approx((0.45, 0.95))
    assert np.isnan(_percentiles(0.7, np.array([0.1, 0.2, np.nan, np.nan]), 0.9)).all()
