"""Diagonal Gaussians given by means and log variances; everything in nats."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.functional.precision import full_precision


@full_precision
def kl_per_latent(
    mean: Float[Tensor, "batch latent"], log_var: Float[Tensor, "batch latent"]
) -> Float[Tensor, "batch latent"]:
    """KL(N(mean, exp(log_var)) ‖ N(0, 1)) of each latent of each image.

    Kingma & Welling (2014), https://arxiv.org/abs/1312.6114, appendix B.

    Args:
        mean: Means of the posteriors.
        log_var: Log variances of the posteriors.
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
    """A reparametrised sample of each posterior.

    Args:
        mean: Means of the posteriors.
        log_var: Log variances of the posteriors.
        noise: Standard normal numbers.
    """
    return mean + (0.5 * log_var).exp() * noise


@full_precision
def log_density(
    z: Float[Tensor, "*#shape"],
    mean: Float[Tensor, "*#shape"],
    log_var: Float[Tensor, "*#shape"],
) -> Float[Tensor, "..."]:
    """Log N(z; mean, exp(log_var)), elementwise with broadcasting.

    Args:
        z: Points at which the density is evaluated.
        mean: Means.
        log_var: Log variances.
    """
    squared = (z - mean).square() * (-log_var).exp()
    return -0.5 * (squared + log_var + math.log(2 * math.pi))


@full_precision
def standard_log_density(z: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Log N(z; 0, 1), elementwise.

    Args:
        z: Points at which the density is evaluated.
    """
    return log_density(z, torch.zeros_like(z), torch.zeros_like(z))
