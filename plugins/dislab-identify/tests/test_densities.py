import math

import numpy as np
import pytest
import torch

from dislab.base import Posterior
from dislab.functional.losses import kl_between
from dislab_identify.densities import (
    epps_pulley,
    gaussian_entropy,
    gaussian_reconstruction,
    info_nce,
    laplace_cross_entropy,
)
from dislab_identify.ivae import combined
from dislab_identify.slow_vae import divergences

GENERATOR = torch.Generator().manual_seed(0)
# antithetic quantiles instead of random draws: an error far below 1e-4
_LEVELS = (torch.arange(2_000_000, dtype=torch.float64) + 0.5) / 2_000_000
NORMAL = math.sqrt(2) * torch.erfinv(2 * _LEVELS - 1)


def f64(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("mean", [0.0, 0.3, -2.0, 9.0])
@pytest.mark.parametrize("std", [0.01, 0.7, 3.0])
@pytest.mark.parametrize("rate", [0.5, 6.0])
def test_the_laplace_cross_entropy_equals_monte_carlo(mean: float, std: float, rate: float) -> None:
    closed = laplace_cross_entropy(f64(mean), f64(2 * math.log(std)), rate).item()
    drawn = mean + std * NORMAL
    sampled = -(math.log(rate / 2) - rate * drawn.abs()).mean().item()
    assert closed == pytest.approx(sampled, abs=1e-4)


def test_the_slow_divergence_equals_monte_carlo() -> None:
    before, after = (
        Posterior(f64(0.4)[:, None], f64(-0.5)[:, None]),
        Posterior(f64(-0.2)[:, None], f64(0.3)[:, None]),
    )
    _, slow = divergences(before, after, 6.0, "kl")
    draws = torch.from_numpy(np.random.default_rng(0).permutation(NORMAL.numpy()))
    first = 0.4 + math.exp(-0.25) * NORMAL
    second = -0.2 + math.exp(0.15) * draws
    log_q = -0.5 * (draws.square() + 0.3 + math.log(2 * math.pi))
    log_p = math.log(3.0) - 6.0 * (second - first).abs()
    assert slow.item() == pytest.approx((log_q - log_p).mean().item(), abs=2e-2)
    # the same expectation over the difference, whose quantiles are exact
    gap = -0.6 + math.sqrt(math.exp(-0.5) + math.exp(0.3)) * NORMAL
    exact = (6.0 * gap.abs()).mean().item() - math.log(3.0) - gaussian_entropy(f64(0.3)).item()
    assert slow.item() == pytest.approx(exact, abs=1e-4)


def test_the_code_of_slowvae_is_no_divergence() -> None:
    """Trap: two cross-entropies but one entropy, around means instead of samples."""
    before, after = (
        Posterior(torch.randn(5, 3, generator=GENERATOR), torch.randn(5, 3, generator=GENERATOR))
        for _ in range(2)
    )
    _, slow = divergences(before, after, 6.0, "code")
    gap = after.mean - before.mean
    parts = (before, after)
    cross = sum(laplace_cross_entropy(gap, p.log_var, 6.0).sum(1).mean().item() for p in parts)
    entropy = sum(gaussian_entropy(p.log_var).sum(1).mean().item() for p in parts)
    assert slow.item() == pytest.approx(cross - 0.5 * entropy, rel=1e-5)
    assert abs(slow.item() - (cross - entropy)) > 0.1


def test_the_gaussian_reconstruction_by_hand() -> None:
    loss = gaussian_reconstruction(f64(1.0, 2.0)[None], f64(1.0, 2.1)[None], 0.01)
    assert loss.item() == pytest.approx(0.5 + math.log(2 * math.pi * 0.01), abs=1e-9)


def test_the_product_of_gaussians_equals_quadrature() -> None:
    message = Posterior(f64(0.8)[:, None], f64(-1.0)[:, None])
    product = combined(message, f64(0.6)[:, None])
    z = torch.linspace(-12, 12, 200_001, dtype=torch.float64)
    log = -0.5 * ((z - 0.8).square() / math.exp(-1.0) + z.square() / math.exp(0.6))
    weight = log.exp() / log.exp().sum()
    mean = (weight * z).sum().item()
    assert product.mean.item() == pytest.approx(mean, abs=1e-6)
    variance = (weight * (z - mean).square()).sum().item()
    assert product.log_var.exp().item() == pytest.approx(variance, abs=1e-6)


def test_the_kl_of_the_conditional_prior_equals_monte_carlo() -> None:
    closed = kl_between(f64(0.5)[:, None], f64(-0.7)[:, None], f64(0.0)[:, None], f64(0.4)[:, None])
    z = 0.5 + math.exp(-0.35) * NORMAL
    sampled = 0.5 * (z.square() / math.exp(0.4) + 0.4 - NORMAL.square() + 0.7)
    assert closed.item() == pytest.approx(sampled.mean().item(), abs=1e-4)


def test_info_nce_by_hand() -> None:
    z, second = f64(0.0, 1.0)[:, None], f64(0.0, 3.0)[:, None]
    first = math.log(1 + math.exp(-9 / 2))
    last = 4 / 2 + math.log(math.exp(-1 / 2) + math.exp(-4 / 2))
    assert info_nce(z, second, 2.0, 2.0).item() == pytest.approx((first + last) / 2)


def test_info_nce_of_equal_codes_is_the_logarithm_of_the_batch() -> None:
    assert info_nce(torch.zeros(8, 2), torch.zeros(8, 2), 1.0, 1.0).item() == pytest.approx(
        math.log(8)
    )


def test_epps_pulley_equals_its_closed_form() -> None:
    rows = torch.randn(40, 3, generator=GENERATOR, dtype=torch.float64) * 1.5 + 0.2
    gaps = (rows[:, None] - rows[None]).square()
    pairs = math.sqrt(2 * math.pi) * (-gaps / 2).exp().mean((0, 1))
    cross = 2 * math.sqrt(math.pi) * (-rows.square() / 4).exp().mean(0)
    closed = pairs - cross + math.sqrt(2 * math.pi / 3)
    assert torch.allclose(epps_pulley(rows, 4001, 12.0), closed, atol=1e-6)
    assert torch.allclose(epps_pulley(rows), closed, atol=5e-3)  # 17 knots to 3, as published


def test_epps_pulley_vanishes_for_the_normal_distribution_only() -> None:
    normal = epps_pulley(NORMAL[::200, None])
    uniform = epps_pulley(NORMAL[::200, None].sign() * math.sqrt(3) * _LEVELS[::200, None])
    assert normal.item() < 1e-6
    assert uniform.item() > 1e-3
