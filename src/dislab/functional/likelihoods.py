"""Negative log likelihoods of images, in nats per image: pixels summed, batch averaged."""

import math
from typing import Literal, assert_never

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from dislab.functional.precision import full_precision

Likelihood = Literal["bernoulli", "gaussian"]
"""`bernoulli` reads the decoder's output as logits, `gaussian` as raw means of unit variance."""


@full_precision
def negative_log_likelihood(
    output: Float[Tensor, "batch channel height width"],
    image: Float[Tensor, "batch channel height width"],
    likelihood: Likelihood,
) -> Float[Tensor, ""]:
    """−log p(x|z) in nats per image.

    The Gaussian one keeps its constant, ½·log 2π a pixel, so that it is a density.

    Args:
        output: What the decoder returned.
        image: Pixels in [0, 1].
        likelihood: How the output is read.
    """
    if likelihood == "bernoulli":
        total = F.binary_cross_entropy_with_logits(output, image, reduction="sum")
    elif likelihood == "gaussian":
        constant = 0.5 * math.log(2 * math.pi) * image.numel()
        total = 0.5 * (output - image).square().sum() + constant
    else:
        assert_never(likelihood)
    return total / len(image)


@full_precision
def mean_image(
    output: Float[Tensor, "batch channel height width"], likelihood: Likelihood
) -> Float[Tensor, "batch channel height width"]:
    """The mean of p(x|z) as pixels in [0, 1].

    Args:
        output: What the decoder returned.
        likelihood: How the output is read.
    """
    return output.sigmoid() if likelihood == "bernoulli" else output.clamp(0.0, 1.0)
