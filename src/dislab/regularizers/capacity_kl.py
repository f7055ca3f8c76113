"""KL divergence held close to a growing capacity."""

from typing import final

from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Draws, Penalty, Posterior, Regularizer
from dislab.functional.checks import check_at_least, check_count
from dislab.functional.losses import kl_per_latent, linear_ramp
from dislab.functional.runtime import gather_rows


@final
class CapacityKL(Regularizer):
    """Absolute distance of the KL divergence from a linearly growing capacity (annealed VAE).

    Burgess et al. (2018), https://arxiv.org/abs/1804.03599, eq. 8. The absolute value is taken of
    the mean over the global batch, not per image.

    Args:
        latent_dim: Number of latents.
        train_size: Size of the training set; not used.
        gamma: Weight of the distance.
        capacity: Final capacity in nats; 25 for dSprites, 50 for CelebA in the paper.
        steps: Optimiser steps over which the capacity rises from 0.

    Raises:
        InputError: A setting is negative.
    """

    def __init__(
        self,
        latent_dim: int,
        train_size: int,
        gamma: float = 1000.0,
        capacity: float = 25.0,
        steps: int = 100_000,
    ) -> None:
        super().__init__()
        check_at_least("gamma", gamma, 0)
        check_at_least("capacity", capacity, 0)
        check_count("steps", steps, 0)
        self.gamma = gamma
        self.capacity = capacity
        self.steps = steps

    def forward(
        self,
        posterior: Posterior,
        z: Float[Tensor, "batch latent"],
        draws: Draws,
        step: Int[Tensor, ""],
    ) -> Penalty:
        """Gamma · |mean KL − C(step)|; terms: `kl` and `capacity` in nats."""
        kl = gather_rows(kl_per_latent(*posterior)).sum(1).mean()
        capacity = linear_ramp(step, 0.0, self.capacity, self.steps)
        penalty = self.gamma * (kl - capacity).abs()
        return Penalty(penalty, None, {"kl": kl, "capacity": capacity})
