import math

import pytest
import torch
from torch.distributions import Bernoulli, Normal, kl_divergence

from dislab.errors import InputError
from dislab.functional.losses import (
    discretized_log_probability,
    kl_per_latent,
    linear_ramp,
    log_density,
    mean_image,
    negative_log_likelihood,
    sample,
    standard_log_density,
)
from dislab.objectives._symbols import product_of_experts


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


def test_pixels_are_summed_and_images_averaged() -> None:
    output = torch.zeros(3, 2, 4, 5)
    image = torch.rand(3, 2, 4, 5)
    nll = negative_log_likelihood(output, image, "bernoulli")
    assert nll.item() == pytest.approx(40 * math.log(2), rel=1e-6)


def test_likelihoods_equal_torch_distributions() -> None:
    output = torch.randn(3, 1, 4, 4, dtype=torch.float64)
    image = torch.randint(0, 2, (3, 1, 4, 4)).double()
    bernoulli = -Bernoulli(logits=output).log_prob(image).sum() / 3  # type: ignore[no-untyped-call]
    gaussian = -Normal(output, 1.0).log_prob(image).sum() / 3  # type: ignore[no-untyped-call]
    torch.testing.assert_close(negative_log_likelihood(output, image, "bernoulli"), bernoulli)
    torch.testing.assert_close(negative_log_likelihood(output, image, "gaussian"), gaussian)


def test_mean_image_lies_in_the_unit_interval() -> None:
    output = torch.tensor([-2.0, 0.0, 0.5, 2.0]).view(1, 1, 2, 2)
    assert mean_image(output, "gaussian").flatten().tolist() == [0.0, 0.0, 0.5, 1.0]
    torch.testing.assert_close(mean_image(output, "bernoulli"), output.sigmoid())


def test_the_probabilities_of_the_256_levels_sum_to_one() -> None:
    levels = torch.arange(256, dtype=torch.float64) / 255
    for scale in (1e-4, 0.02, 0.3, 5.0):
        for location in (-0.7, 0.0, 0.31, 1.0, 1.8):
            log_scale = torch.tensor(math.log(scale), dtype=torch.float64)
            where = torch.full_like(levels, location)
            log_probability = discretized_log_probability(where, levels, log_scale)
            assert log_probability.exp().sum().item() == pytest.approx(1.0, abs=1e-12)


def test_a_levels_probability_is_the_mass_of_its_interval() -> None:
    def cdf(x: float) -> float:
        return 1 / (1 + math.exp(-(x - 0.4) / 0.1))

    levels = torch.tensor([0, 100, 255], dtype=torch.float64) / 255
    scale = torch.tensor(math.log(0.1), dtype=torch.float64)
    log_probability = discretized_log_probability(torch.full_like(levels, 0.4), levels, scale)
    masses = [cdf(0.5 / 255), cdf(100.5 / 255) - cdf(99.5 / 255), 1 - cdf(254.5 / 255)]
    torch.testing.assert_close(log_probability.exp(), torch.tensor(masses, dtype=torch.float64))


def test_discretized_is_finite_with_its_gradients_far_from_the_image() -> None:
    output = torch.tensor([-50.0, 50.0, 0.5]).view(1, 1, 1, 3).requires_grad_()
    log_scale = torch.tensor(-6.0, requires_grad=True)
    image = torch.tensor([1.0, 0.0, 0.5]).view(1, 1, 1, 3)
    nll = negative_log_likelihood(output, image, "discretized", log_scale)
    nll.backward()  # type: ignore[no-untyped-call]
    assert nll.isfinite()
    assert output.grad is not None
    assert output.grad.isfinite().all()
    assert output.grad.flatten()[0] < 0 < output.grad.flatten()[1]
    assert log_scale.grad is not None
    assert log_scale.grad < 0  # a wider scale would explain the two far pixels


def test_discretized_needs_a_scale() -> None:
    pixels = torch.zeros(1, 1, 1, 1)
    with pytest.raises(InputError, match="discretized needs a scale"):
        negative_log_likelihood(pixels, pixels, "discretized")


@pytest.mark.parametrize(
    ("step", "steps", "value"),
    [(0, 10, 2.0), (5, 10, 4.0), (10, 10, 6.0), (99, 10, 6.0), (0, 0, 6.0), (3, 0, 6.0)],
)
def test_linear_ramp(step: int, steps: int, value: float) -> None:
    assert linear_ramp(torch.tensor(step), 2.0, 6.0, steps).item() == pytest.approx(value)
