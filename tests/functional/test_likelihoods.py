import math

import pytest
import torch
from torch.distributions import Bernoulli, Normal

from dislab.errors import InputError
from dislab.functional.losses import (
    discretized_log_probability,
    mean_image,
    negative_log_likelihood,
)


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
