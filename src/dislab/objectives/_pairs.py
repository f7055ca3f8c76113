"""Common steps of objectives over pairs of images; networks get both images in one batch."""

from typing import Final, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dislab.base import Draws, PairBatch, Posterior, TransitionBatch
from dislab.functional.gaussians import sample
from dislab.functional.noise import InputNoise
from dislab.objectives._variational import Penalties, penalize, seen, under

PairLabels = Literal["none", "known"]
"""Whether the changed factors of a pair are unknown or read from the batch."""

SIDES: Final = ("first", "second")
"""Names of the draws of the two images."""


def seen_pair(
    batch: PairBatch | TransitionBatch, draws: Draws, noise: InputNoise
) -> Float[Tensor, "twice channel height width"]:
    """The encoder's input: all first images, then all second images, with input noise."""
    images = zip(SIDES, (batch.image, batch.second), strict=True)
    return torch.cat([seen(image, under(side, draws), noise) for side, image in images])


def halves(posterior: Posterior) -> tuple[Posterior, Posterior]:
    """The posteriors of the first and of the second images."""
    first, second = zip(posterior.mean.chunk(2), posterior.log_var.chunk(2), strict=True)
    return Posterior(*first), Posterior(*second)


def share(
    posterior: Posterior, common: tuple[Tensor, Tensor], shared: Bool[Tensor, "batch latent"]
) -> Posterior:
    """A posterior in which shared latents have the pair's common mean and log variance."""
    mean, log_var = common
    return Posterior(
        torch.where(shared, mean, posterior.mean), torch.where(shared, log_var, posterior.log_var)
    )


def sample_pair(first: Posterior, second: Posterior, draws: Draws) -> list[Tensor]:
    """A sample of each posterior, with independent noise."""
    posteriors = zip(SIDES, (first, second), strict=True)
    return [sample(*posterior, draws[f"{side}.noise"]) for side, posterior in posteriors]


def penalize_pair(
    regularizers: nn.ModuleDict,
    first: Posterior,
    second: Posterior,
    z: list[Tensor],
    draws: Draws,
    step: Int[Tensor, ""],
) -> Penalties:
    """All sums and terms, averaged over the two images."""
    first_penalty, second_penalty = (
        penalize(regularizers, posterior, codes, under(side, draws), step)
        for side, posterior, codes in zip(SIDES, (first, second), z, strict=True)
    )
    auxiliary = None
    if first_penalty.auxiliary is not None and second_penalty.auxiliary is not None:
        auxiliary = 0.5 * (first_penalty.auxiliary + second_penalty.auxiliary)
    return Penalties(
        0.5 * (first_penalty.penalty + second_penalty.penalty),
        auxiliary,
        {
            name: 0.5 * (first_penalty.terms[name] + second_penalty.terms[name])
            for name in first_penalty.terms
        },
    )
