"""Dependence of Gaussian latents, by hand and against scipy."""

import math

import numpy as np
import pytest
import torch
from scipy.linalg import sqrtm

from dislab.functional.gaussian_dependence import (
    covariance,
    gaussian_total_correlation,
    gaussian_wasserstein_correlation,
)


def random_covariance(latents: int) -> torch.Tensor:
    root = torch.randn(latents, latents, dtype=torch.float64)
    return root @ root.T + 0.1 * torch.eye(latents, dtype=torch.float64)


def test_two_latents_by_hand() -> None:
    # correlation 0.6: -log(1 - 0.36) / 2; roots of the eigenvalues 1 ± 0.6
    moments = torch.tensor([[1.0, 0.6], [0.6, 1.0]], dtype=torch.float64)
    assert gaussian_total_correlation(moments).item() == pytest.approx(-math.log(0.64) / 2)
    expected = 4 - 2 * (math.sqrt(1.6) + math.sqrt(0.4))
    assert gaussian_wasserstein_correlation(moments).item() == pytest.approx(expected)


def test_the_published_formulas() -> None:
    moments = random_covariance(5)
    array = moments.numpy()
    log_det = np.linalg.slogdet(array)[1]
    expected = (np.log(np.diag(array)).sum() - log_det) / 2
    assert gaussian_total_correlation(moments).item() == pytest.approx(expected, abs=1e-9)
    roots = np.trace(sqrtm(array * np.diag(array))).real
    expected = 2 * np.trace(array) - 2 * roots
    assert gaussian_wasserstein_correlation(moments).item() == pytest.approx(expected, abs=1e-9)


def test_units_matter_for_one_of_them() -> None:
    moments = random_covariance(4)
    scaled = moments * 9.0
    torch.testing.assert_close(
        gaussian_total_correlation(scaled), gaussian_total_correlation(moments)
    )
    torch.testing.assert_close(
        gaussian_wasserstein_correlation(scaled), 9 * gaussian_wasserstein_correlation(moments)
    )


def test_independent_and_idle_latents_share_nothing() -> None:
    moments = torch.diag(torch.tensor([4.0, 0.0, 1e-8], dtype=torch.float64))
    assert gaussian_total_correlation(moments).item() == pytest.approx(0.0, abs=1e-12)
    assert gaussian_wasserstein_correlation(moments).item() == pytest.approx(0.0, abs=1e-12)
    nothing = torch.zeros(3, 3, dtype=torch.float64)
    assert gaussian_total_correlation(nothing).item() == 0.0
    assert gaussian_wasserstein_correlation(nothing).item() == 0.0


def test_a_repeated_latent_counts_about_seventeen_nats() -> None:
    codes = torch.randn(500, 1, dtype=torch.float64)
    repeated = covariance(torch.cat([codes, 3 * codes], dim=1))
    assert 16 < gaussian_total_correlation(repeated).item() < 19


def test_covariance_equals_numpys() -> None:
    codes = torch.randn(30, 3, dtype=torch.float64) + 100
    codes[:, 1] = 0.1
    expected = np.cov(codes.numpy(), rowvar=False)
    np.testing.assert_allclose(covariance(codes).numpy(), expected, atol=1e-12)
    assert covariance(codes)[1].tolist() == [0.0, 0.0, 0.0]
