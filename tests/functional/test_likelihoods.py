import math

import pytest
import torch
from torch.distributions import Bernoulli, Normal

from dislab.functional.likelihoods import mean_image, negative_log_likelihood


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
