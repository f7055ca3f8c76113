"""Terms of losses in nats: Gaussians, likelihoods of pixels, and ramps of their weights.

Gaussians are diagonal, and passed as means and log variances.
"""

import math
from typing import Final, Literal, assert_never

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from dislab.errors import InputError
from dislab.functional.runtime import full_precision


@full_precision
def kl_per_latent(
    mean: Float[Tensor, "batch latent"], log_var: Float[Tensor, "batch latent"]
) -> Float[Tensor, "batch latent"]:
    """KL(N(mean, exp(log_var)) ‖ N(0, 1)) of each latent of each image.

    Kingma & Welling (2014), https://arxiv.org/abs/1312.6114, appendix B.
    """
    return 0.5 * (mean.square() + log_var.exp() - log_var - 1.0)


@full_precision
def kl_between(
    mean: Float[Tensor, "batch latent"],
    log_var: Float[Tensor, "batch latent"],
    other_mean: Float[Tensor, "batch latent"],
    other_log_var: Float[Tensor, "batch latent"],
) -> Float[Tensor, "batch latent"]:
    """KL(N(mean, exp(log_var)) ‖ N(other_mean, exp(other_log_var))) of each latent of each image.

    Args:
        mean: Means of the first distributions, over which the expectation is taken.
        log_var: Their log variances.
        other_mean: Means of the second distributions.
        other_log_var: Their log variances.
    """
    gap = log_var - other_log_var
    squared = (mean - other_mean).square() * (-other_log_var).exp()
    return 0.5 * (squared + torch.expm1(gap) - gap)


@full_precision
def sample(
    mean: Float[Tensor, "batch latent"],
    log_var: Float[Tensor, "batch latent"],
    noise: Float[Tensor, "batch latent"],
) -> Float[Tensor, "batch latent"]:
    """A reparametrised sample of each posterior, from standard normal noise."""
    return mean + (0.5 * log_var).exp() * noise


@full_precision
def log_density(
    z: Float[Tensor, "*#shape"],
    mean: Float[Tensor, "*#shape"],
    log_var: Float[Tensor, "*#shape"],
) -> Float[Tensor, "..."]:
    """Log N(z; mean, exp(log_var)), elementwise with broadcasting."""
    squared = (z - mean).square() * (-log_var).exp()
    return -0.5 * (squared + log_var + math.log(2 * math.pi))


@full_precision
def standard_log_density(z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Log N(z; 0, 1), elementwise."""
    return log_density(z, torch.zeros_like(z), torch.zeros_like(z))


Likelihood = Literal["bernoulli", "gaussian", "discretized"]
"""`bernoulli` reads the decoder's output as logits, `gaussian` as raw means of unit variance,
`discretized` as locations of a logistic distribution over the 256 levels of a pixel."""

_GAP: Final = 1 / 255
"""Distance between neighbouring pixel levels."""


@full_precision
def negative_log_likelihood(
    output: Float[Tensor, "batch channel height width"],
    image: Float[Tensor, "batch channel height width"],
    likelihood: Likelihood,
    log_scale: Float[Tensor, ""] | None = None,
) -> Float[Tensor, ""]:
    """−log p(x|z) in nats per image.

    The Gaussian likelihood includes its constant, ½·log 2π per pixel, so that it is a density. The
    discretised one is a probability.

    Args:
        output: Output of the decoder.
        image: Pixels in [0, 1].
        likelihood: Meaning of the output.
        log_scale: Logarithm of the scale of `discretized`, for pixels in [0, 1].

    Raises:
        InputError: `discretized` has no scale.
    """
    if likelihood == "bernoulli":
        total = F.binary_cross_entropy_with_logits(output, image, reduction="sum")
    elif likelihood == "gaussian":
        constant = 0.5 * math.log(2 * math.pi) * image.numel()
        total = 0.5 * (output - image).square().sum() + constant
    elif likelihood == "discretized":
        if log_scale is None:
            raise InputError(
                "likelihood discretized needs a scale, which this method does not learn"
            )
        total = -discretized_log_probability(output, image, log_scale).sum()
    else:
        assert_never(likelihood)
    return total / image.shape[0]


@full_precision
def discretized_log_probability(
    location: Float[Tensor, "*shape"],
    image: Float[Tensor, "*shape"],
    log_scale: Float[Tensor, ""],
) -> Float[Tensor, "*shape"]:
    """Log probability of each pixel's level under a logistic distribution cut into 256 intervals.

    An interval extends half a level to either side; those of 0 and 1 are unbounded outwards, so
    that the 256 probabilities sum to one.

    Kingma et al. (2016), https://arxiv.org/abs/1606.04934, appendix: one scale for all pixels.

    Args:
        location: Centres of the distributions, pixels in [0, 1].
        image: Pixels in [0, 1].
        log_scale: Logarithm of the scale, in pixels of [0, 1].
    """
    inverse = torch.exp(-log_scale)
    upper = (image + 0.5 * _GAP - location) * inverse
    lower = (image - 0.5 * _GAP - location) * inverse
    below, above = image < 0.5 * _GAP, image > 1 - 0.5 * _GAP
    # σ(u) − σ(l) = σ(u)·σ(−l)·(1 − exp(l − u)), which keeps precision far from the location
    inside = torch.log(-torch.expm1(-_GAP * inverse))
    from_below = F.logsigmoid(upper).masked_fill(above, 0.0)
    from_above = F.logsigmoid(-lower).masked_fill(below, 0.0)
    return from_below + from_above + torch.where(below | above, torch.zeros_like(inside), inside)


@full_precision
def mean_image(
    output: Float[Tensor, "batch channel height width"], likelihood: Likelihood
) -> Float[Tensor, "batch channel height width"]:
    """The mean of p(x|z) as pixels in [0, 1]; Gaussian means of vectors are not bounded."""
    if likelihood == "bernoulli":
        return output.sigmoid()
    return output if output.shape[-2:] == (1, 1) else output.clamp(0.0, 1.0)


def linear_ramp(
    step: Int[Tensor, ""],
    start: float | Float[Tensor, ""],
    end: float | Float[Tensor, ""],
    steps: int,
) -> Float[Tensor, ""]:
    """A value that changes linearly from `start` to `end` over `steps`, then stays constant.

    Start and end may be tensors, so that stacked runs can have different values.

    Args:
        step: Optimiser steps done so far.
        start: Value at step 0.
        end: Value from step `steps` on; the constant value if `steps` is 0.
        steps: Length of the ramp in optimiser steps.
    """
    if steps == 0:
        if isinstance(end, Tensor):
            return torch.zeros((), device=step.device) + end
        return torch.full((), end, dtype=torch.get_default_dtype(), device=step.device)
    return start + (end - start) * (step / steps).clamp(max=1.0)
