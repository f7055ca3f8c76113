"""KL divergence to the prior, weighted."""

from typing import final

from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Draws, Penalty, Posterior, Regularizer
from dislab.functional.checks import check_at_least, check_count
from dislab.functional.losses import kl_per_latent, linear_ramp


@final
class KL(Regularizer):
    """KL divergence to the standard normal prior, times beta (VAE, β-VAE).

    Kingma & Welling (2014), https://arxiv.org/abs/1312.6114, eq. 10; β: Higgins et al. (2017),
    https://openreview.net/forum?id=Sy2fzU9gl, eq. 4.

    Args:
        latent_dim: Number of latents.
        train_size: Size of the training set; not used.
        beta: Weight; 1 is the VAE.
        warmup_steps: Optimiser steps over which the weight rises linearly from 0.

    Raises:
        InputError: A setting is negative.
    """

    def __init__(
        self, latent_dim: int, train_size: int, beta: float = 1.0, warmup_steps: int = 0
    ) -> None:
        super().__init__()
        check_at_least("beta", beta, 0)
        check_count("warmup_steps", warmup_steps, 0)
        self.beta = beta
        self.warmup_steps = warmup_steps

    def forward(
        self,
        posterior: Posterior,
        z: Float[Tensor, "batch latent"],
        draws: Draws,
        step: Int[Tensor, ""],
    ) -> Penalty:
        """beta(step) · Σ_j KL_j, batch averaged; terms: `kl` (unweighted) and `beta`."""
        kl = kl_per_latent(*posterior).sum(1).mean()
        beta = linear_ramp(step, 0.0, self.beta, self.warmup_steps)
        return Penalty(beta * kl, None, {"kl": kl, "beta": beta})
