"""Latents shared by several images, and common posteriors of shared latents.

Posteriors are passed as means and log variances: those of the first images, then of the second.
"""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dislab.errors import InputError
from dislab.functional.losses import kl_between
from dislab.functional.runtime import full_precision

PairDivergence = Literal["forward", "symmetric"]
"""KL(first ‖ second), or the mean of both directions."""


@full_precision
def pair_divergence(
    mean: Float[Tensor, "batch latent"],
    log_var: Float[Tensor, "batch latent"],
    second_mean: Float[Tensor, "batch latent"],
    second_log_var: Float[Tensor, "batch latent"],
    kind: PairDivergence,
) -> Float[Tensor, "batch latent"]:
    """Divergence of the two posteriors of each latent, in nats."""
    forward = kl_between(mean, log_var, second_mean, second_log_var)
    if kind == "forward":
        return forward
    return 0.5 * (forward + kl_between(second_mean, second_log_var, mean, log_var))


def shared_latents(divergence: Float[Tensor, "batch latent"]) -> Bool[Tensor, "batch latent"]:
    """Mask of the latents whose divergence is below the midpoint of the pair's extremes.

    The extremes are the pair's smallest and largest divergence; if all are equal, none is shared.

    Locatello et al. (2020), https://arxiv.org/abs/2002.02886, section 4.2.
    """
    threshold = 0.5 * (divergence.amin(1, keepdim=True) + divergence.amax(1, keepdim=True))
    return divergence < threshold


def labelled_latents(
    shared: Bool[Tensor, "batch latent"], changed: Bool[Tensor, "batch factor"]
) -> Bool[Tensor, "batch latent"]:
    """The shared latents if the changed factors are known.

    Latent j represents factor j and is shared if this factor did not change; the mask of latents
    beyond the number of factors is unchanged.

    Args:
        shared: Mask of the latents found to be shared.
        changed: Which factors differ between the two images.

    Raises:
        InputError: There are fewer latents than factors.
    """
    factors, latents = changed.shape[1], shared.shape[1]
    if latents < factors:
        raise InputError(
            f"labels: known gives each factor a latent of its own, and there are {latents} "
            f"latents for {factors} factors; set latent_dim to at least {factors}"
        )
    return torch.cat([~changed, shared[:, factors:]], dim=1)


@full_precision
def mean_of_gaussians(
    mean: Float[Tensor, "batch latent"],
    log_var: Float[Tensor, "batch latent"],
    second_mean: Float[Tensor, "batch latent"],
    second_log_var: Float[Tensor, "batch latent"],
) -> tuple[Float[Tensor, "batch latent"], Float[Tensor, "batch latent"]]:
    """Mean and log variance of Ada-GVAE's average: the mean of the means and of the variances.

    Hosoya (2019), https://arxiv.org/abs/1809.02383; Locatello et al. (2020),
    https://arxiv.org/abs/2002.02886, section 4.2.
    """
    return 0.5 * (mean + second_mean), torch.logaddexp(log_var, second_log_var) - math.log(2)


@full_precision
def product_of_gaussians(
    mean: Float[Tensor, "batch latent"],
    log_var: Float[Tensor, "batch latent"],
    second_mean: Float[Tensor, "batch latent"],
    second_log_var: Float[Tensor, "batch latent"],
) -> tuple[Float[Tensor, "batch latent"], Float[Tensor, "batch latent"]]:
    """Mean and log variance of Ada-ML-VAE's average: means weighted by precision.

    The variance is 2σ₁²σ₂²/(σ₁²+σ₂²), the harmonic mean, as in the reference code: twice the
    variance of the product of the two densities, so that equal posteriors stay unchanged.

    Bouchacourt et al. (2018), https://arxiv.org/abs/1705.08841; Locatello et al. (2020),
    https://arxiv.org/abs/2002.02886, section 4.2.
    """
    weight = torch.sigmoid(second_log_var - log_var)  # σ₂²/(σ₁²+σ₂²), without overflow
    averaged = weight * mean + (1 - weight) * second_mean
    total = torch.logaddexp(log_var, second_log_var)
    return averaged, math.log(2) + log_var + second_log_var - total
