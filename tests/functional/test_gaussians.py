import math

import pytest
import torch
from torch.distributions import Normal, kl_divergence

from dislab.functional.gaussians import kl_per_latent, log_density, sample, standard_log_density


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
