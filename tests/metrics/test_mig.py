"""The mutual information gap."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import Tensor

from dislab.codes.bank import ConstantFactorWarning
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.metrics import MIG, evaluate

SIZES = (3, 6, 40, 32, 32)
SPACE = FactorSpace(
    tuple(
        Factor(name, tuple(map(float, range(size))))
        for name, size in zip("abcde", SIZES, strict=True)
    )
)
PAIR = FactorSpace((Factor("shape", (0.0, 1.0)), Factor("scale", (0.0, 1.0, 2.0, 3.0))))


def draw_factors(images: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    columns = [torch.randint(size, (images,), generator=generator) for size in SIZES]
    return torch.stack(columns, dim=1)


def score(codes: Tensor, factors: Tensor, space: FactorSpace = SPACE) -> dict[str, Tensor]:
    metric = MIG(space)
    metric.update(codes, factors)
    return metric.compute()


@pytest.mark.parametrize("seed", range(3))
def test_perfect_codes_of_dsprites_reach_the_ceiling(seed: int) -> None:
    factors = draw_factors(10_000, seed)
    assert score(factors.float(), factors)["mig"].item() == pytest.approx(0.896, abs=0.003)


def test_bins_for_every_value_lift_the_ceiling_to_one() -> None:
    factors = draw_factors(10_000)
    idle = torch.zeros(10_000, 1)
    metric = MIG(SPACE, bins=40)
    metric.update(torch.cat([factors, idle], dim=1), factors)
    # The other latents' chance information, about (39·31)/(2N) nats, is all that is missing.
    assert metric.compute()["mig"].item() == pytest.approx(1.0, abs=0.02)


def test_by_hand() -> None:
    grid = torch.cartesian_prod(torch.arange(2), torch.arange(4))
    codes = torch.stack([grid[:, 0], grid[:, 1] // 2, grid[:, 1]], dim=1).float()
    result = score(codes, grid, PAIR)
    two, four = math.log(2), math.log(4)
    expected = [[two, 0.0], [0.0, two], [0.0, four]]
    torch.testing.assert_close(result["mutual_information"], torch.tensor(expected).double())
    assert result["mig_per_factor"].tolist() == pytest.approx([1.0, 0.5])
    assert result["mig"].item() == pytest.approx(0.75)


def test_noise_scores_nearly_zero() -> None:
    factors = draw_factors(10_000)
    assert 0 <= score(torch.randn(10_000, 10), factors)["mig"].item() < 0.01


def test_two_equal_latents_have_no_gap() -> None:
    factors = draw_factors(2000)
    doubled = torch.cat([factors, factors], dim=1).float()
    assert score(doubled, factors)["mig"].item() == pytest.approx(0.0, abs=1e-12)


def test_order_units_and_idle_latents_do_not_matter() -> None:
    factors = draw_factors(3000)
    codes = factors.float() + torch.randn(3000, 5)
    plain = score(codes, factors)
    order = torch.randperm(5)
    scaled = codes[:, order].double() * torch.tensor([0.25, 1, 2, 4, 64]).double()
    changed = score(torch.cat([scaled, torch.full((3000, 2), 7.0)], dim=1), factors)
    torch.testing.assert_close(changed["mig_per_factor"], plain["mig_per_factor"])
    torch.testing.assert_close(
        changed["mutual_information"][:5], plain["mutual_information"][order]
    )
    assert changed["mutual_information"][5:].abs().max().item() < 1e-12


def test_batches_do_not_matter() -> None:
    factors = draw_factors(500)
    codes = torch.randn(500, 4)
    metric = MIG(SPACE)
    for rows in (slice(0, 77), slice(77, 78), slice(78, 500)):
        metric.update(codes[rows], factors[rows])
    assert torch.equal(metric.compute()["mig"], score(codes, factors)["mig"])


def test_one_latent_has_an_uninformative_second() -> None:
    grid = torch.cartesian_prod(torch.arange(2), torch.arange(4))
    assert score(grid[:, 1:].float(), grid, PAIR)["mig_per_factor"].tolist() == [0.0, 1.0]


def test_factors_that_never_vary_are_left_out() -> None:
    factors = draw_factors(2000)
    factors[:, 2] = 5
    with pytest.warns(ConstantFactorWarning, match="c took one value only"):
        result = score(factors.float(), factors)
    per_factor = result["mig_per_factor"]
    assert per_factor.isnan().tolist() == [False, False, True, False, False]
    assert result["mig"].item() == pytest.approx(per_factor.nanmean().item())


def test_broken_codes_are_refused() -> None:
    codes = torch.randn(10, 3)
    codes[4, 1] = torch.nan
    with pytest.raises(InputError, match="1 of 10 codes hold NaN or infinity, in latent 1"):
        score(codes, draw_factors(10))


def test_sampled_codes_estimate_the_gap_of_posteriors() -> None:
    """RMIG of Do & Tran (2020), by hand: posteriors N(±1, 1/2) of a factor, cut into 20 bins."""
    generator = np.random.default_rng(0)
    factor = np.arange(40_000) % 2
    means = 2.0 * factor - 1
    sampled = np.stack([means, 0 * means], axis=1) + 0.5 * generator.normal(size=(40_000, 2))
    scores = evaluate(sampled, factor[:, None], [MIG])
    edges = np.linspace(sampled[:, 0].min(), sampled[:, 0].max(), 21)
    mass = np.stack([np.diff(norm.cdf(edges, mean, 0.5)) for mean in (-1, 1)]) / 2
    ratio = mass / (mass.sum(0) * mass.sum(1, keepdims=True))
    assert scores["mig"] == pytest.approx((mass * np.log(ratio)).sum() / np.log(2), abs=0.01)
    assert scores["mig"] < 0.95 < evaluate(means[:, None], factor[:, None], [MIG])["mig"]
