import math

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from dislab.functional.losses import kl_per_latent, log_density, sample, standard_log_density
from dislab.objectives._symbols import product_of_experts
from dislab.regularizers.dip import code_covariance


@pytest.mark.parametrize(
    ("mean", "variance", "nats"),
    [
        (0.0, 1.0, 0.0),
        (2.0, 1.0, 2.0),
        (0.0, math.e, (math.e - 2) / 2),
        (1.0, 0.5, 0.5 * (1 + 0.5 + math.log(2) - 1)),
    ],
)
def test_kl_per_latent_equals_hand_worked_values(mean: float, variance: float, nats: float) -> None:
    kl = kl_per_latent(
        torch.tensor([[mean]], dtype=torch.float64),
        torch.tensor([[math.log(variance)]], dtype=torch.float64),
    )
    assert kl.item() == pytest.approx(nats, abs=1e-12)


def test_kl_and_densities_equal_torch_distributions() -> None:
    mean, log_var, z = torch.randn(3, 7, 5, dtype=torch.float64)
    q = Normal(mean, (0.5 * log_var).exp())
    prior = Normal(torch.zeros_like(mean), torch.ones_like(mean))
    torch.testing.assert_close(kl_per_latent(mean, log_var), kl_divergence(q, prior))
    torch.testing.assert_close(log_density(z, mean, log_var), q.log_prob(z))  # type: ignore[no-untyped-call]
    torch.testing.assert_close(standard_log_density(z), prior.log_prob(z))  # type: ignore[no-untyped-call]


def test_sample_shifts_and_scales_the_noise() -> None:
    z = sample(torch.tensor([[1.0]]), torch.tensor([[math.log(4.0)]]), torch.tensor([[0.5]]))
    assert z.item() == pytest.approx(2.0)


def test_half_precision_arguments_are_widened_even_under_autocast() -> None:
    mean = torch.tensor([[3.0]], dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        kl = kl_per_latent(mean, torch.zeros_like(mean))
    assert kl.dtype == torch.float32
    assert kl.item() == 4.5


def test_precisions_add_up_and_weight_the_means() -> None:
    mean = torch.tensor([[2.0, 0.0], [-1.0, 4.0]], dtype=torch.float64)
    log_var = torch.tensor([[0.5, 1.0], [0.25, 0.2]], dtype=torch.float64).log()
    present = torch.tensor([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]], dtype=torch.float64)
    found_mean, found_log_var = product_of_experts(mean, log_var, present)
    # with the prior's 1: 1 + 2 + 4 and 1 + 1 + 5; 1 + 4 and 1 + 5; 1 and 1
    expected = torch.tensor([[7.0, 7.0], [5.0, 6.0], [1.0, 1.0]], dtype=torch.float64)
    torch.testing.assert_close(found_log_var, -expected.log())
    weighted = torch.tensor([[0.0, 20 / 7], [-4 / 5, 20 / 6], [0, 0]], dtype=torch.float64)
    torch.testing.assert_close(found_mean, weighted)


def test_it_is_the_normalised_product_of_densities() -> None:
    mean, log_var = torch.tensor([[1.5], [-0.5]]).double(), torch.tensor([[0.3], [-1.0]]).double()
    z = torch.linspace(-10, 10, 20_001, dtype=torch.float64)
    logs = -0.5 * z**2 - sum(
        0.5 * (z - m) ** 2 * math.exp(-v)
        for m, v in zip(mean[:, 0].tolist(), log_var[:, 0].tolist(), strict=True)
    )
    density = logs.exp() / torch.trapezoid(logs.exp(), z)
    found_mean, found_log_var = product_of_experts(mean, log_var, torch.ones(1, 2).double())
    center = torch.trapezoid(density * z, z)
    torch.testing.assert_close(found_mean[0, 0], center)
    spread = torch.trapezoid(density * (z - center) ** 2, z)
    torch.testing.assert_close(found_log_var.exp()[0, 0], spread)


def test_covariance_of_the_means_is_the_biased_one() -> None:
    mean = torch.randn(9, 4, dtype=torch.float64)
    expected = torch.from_numpy(np.cov(mean.numpy(), rowvar=False, bias=True))
    torch.testing.assert_close(code_covariance(mean, torch.zeros_like(mean), "I"), expected)


def test_variances_are_added_to_the_diagonal_alone() -> None:
    mean = torch.zeros(2, 3, dtype=torch.float64)
    log_var = torch.tensor([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]], dtype=torch.float64).log()
    expected = torch.diag(torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64))
    torch.testing.assert_close(code_covariance(mean, log_var, "II"), expected)
