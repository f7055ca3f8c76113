"""Closed forms of densities and distances, in nats."""

import math
from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.functional.runtime import full_precision

KNOTS: Final = 17
LAST_KNOT: Final = 3.0


@full_precision
def laplace_cross_entropy(
    mean: Float[Tensor, "*shape"], log_var: Float[Tensor, "*shape"], rate: float
) -> Float[Tensor, "*shape"]:
    """−E log Laplace(d; 0, 1/rate) of d ~ N(mean, exp(log_var)), elementwise.

    E|d| = σ √(2/π) exp(−μ²/2σ²) + μ (1 − 2Φ(−μ/σ)), the mean of a folded normal distribution.

    Klindt et al. (2021), https://arxiv.org/abs/2007.10930, appendix.

    Args:
        mean: Means μ.
        log_var: Logarithms of σ².
        rate: Inverse scale of the Laplace distribution.
    """
    std = (0.5 * log_var).exp()
    ratio = mean / std
    folded = std * math.sqrt(2 / math.pi) * (-0.5 * ratio.square()).exp()
    size = folded + mean * torch.erf(ratio / math.sqrt(2))
    return rate * size - math.log(rate / 2)


@full_precision
def gaussian_entropy(log_var: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Entropy of N(·, exp(log_var)), elementwise."""
    return 0.5 * (log_var + math.log(2 * math.pi * math.e))


@full_precision
def gaussian_reconstruction(
    output: Float[Tensor, "batch *shape"], image: Float[Tensor, "batch *shape"], variance: float
) -> Float[Tensor, ""]:
    """−log N(image; output, variance) in nats per image.

    Args:
        output: Means.
        image: Observations.
        variance: Common variance of all entries.
    """
    squared = (output - image).square().sum() / variance
    constant = math.log(2 * math.pi * variance) * image.numel()
    return 0.5 * (squared + constant) / image.shape[0]


@full_precision
def info_nce(
    z: Float[Tensor, "batch latent"],
    second: Float[Tensor, "batch latent"],
    exponent: float,
    temperature: float,
) -> Float[Tensor, ""]:
    """InfoNCE with the distance Σ|z − z̃|^p; the other pairs' second members are negatives.

    mean_i [δ(z_i, z̃_i)/τ + log Σ_j exp(−δ(z_i, z̃_j)/τ)], at least 0.

    Zimmermann et al. (2021), https://arxiv.org/abs/2102.08850, eq. 6 and theorem 6.

    Args:
        z: Codes.
        second: Codes of their partners.
        exponent: p.
        temperature: τ.
    """
    distance = (z[:, None] - second[None]).abs().pow(exponent).sum(2) / temperature
    return (distance.diagonal() + torch.logsumexp(-distance, dim=1)).mean()


@full_precision
def epps_pulley(
    projections: Float[Tensor, "batch slice"],
    knots: int = KNOTS,
    last: float = LAST_KNOT,
) -> Float[Tensor, " slice"]:
    """Distance of each column from N(0, 1): ∫ |φ_N(t) − exp(−t²/2)|² exp(−t²/2) dt.

    φ_N is the empirical characteristic function. The integral over all t is approximated by the
    trapezoidal rule at `knots` points from 0 to `last`, twice, as the integrand is even.

    Epps & Pulley (1983), https://doi.org/10.1093/biomet/70.3.723.

    Args:
        projections: One number per row and slice.
        knots: Number of points.
        last: The last point.
    """
    t = torch.linspace(0.0, last, knots, dtype=projections.dtype, device=projections.device)
    angle = projections[:, :, None] * t
    target = (-0.5 * t.square()).exp()
    error = (angle.cos().mean(0) - target).square() + angle.sin().mean(0).square()
    return 2 * torch.trapezoid(error * target, t, dim=1)
