"""Order of the latents by activity, and the factor that each encodes."""

from typing import Final, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.codes.information import information_gaps
from dislab.functional.random import host_generator

BINS: Final = 20
ACTIVE: Final = 0.01
"""KL divergence in nats above which a latent counts as active."""
NAMED: Final = 0.1
"""KL divergence in nats above which a factor is named for a latent. A sample of a latent carries no
more information than its KL, even if its mean does."""
STILL: Final = 1e-6
"""Share of the largest standard deviation up to which a code without a posterior counts as dead."""
NAMED_SPREAD: Final = 0.01
"""Share of the largest standard deviation above which a factor is named for a code without a
posterior."""


class Carried(NamedTuple):
    """The factor about which a latent carries most information.

    Attributes:
        factor: Number of the factor.
        nats: Mutual information, minus that with shuffled factors.
    """

    factor: int
    nats: float


class LatentOrder(NamedTuple):
    """Order of the latents in pictures, and their properties by latent number.

    Attributes:
        latents: Numbers of the latents, the most active one first.
        amount: KL divergence in nats for methods with posteriors, else the standard deviation of
            the codes, shape (latent,).
        dead: Whether each latent is inactive.
        carried: The factor of each latent; None for latents that are not active enough.
        centre: Origin of each latent's traversal, in the unit of its codes, shape (latent,).
        scale: One standard deviation of each latent, likewise.
    """

    latents: list[int]
    amount: Tensor
    dead: list[bool]
    carried: list[Carried | None]
    centre: Tensor
    scale: Tensor


def order_by_kl(
    means: Float[Tensor, "point latent"],
    kl: Float[Tensor, " latent"],
    positions: Int[Tensor, "point factor"],
) -> LatentOrder:
    """Orders latents by the mean KL divergence of their posteriors from the prior, in nats."""
    carried = _carried(means, positions, (kl > NAMED).tolist())
    dead: list[bool] = (kl <= ACTIVE).tolist()
    return LatentOrder(
        _descending(kl), kl, dead, carried, torch.zeros_like(kl), torch.ones_like(kl)
    )


def order_by_spread(
    codes: Float[Tensor, "point latent"],
    positions: Int[Tensor, "point factor"],
    bounded: bool = False,
) -> LatentOrder:
    """Orders codes without posteriors by standard deviation; bounded codes keep their order."""
    codes = codes.double()
    centre, spread = codes.mean(0), codes.std(0, correction=0)
    latents = list(range(codes.shape[1])) if bounded else _descending(spread)
    carried = _carried(codes, positions, (spread > NAMED_SPREAD * spread.max()).tolist())
    dead: list[bool] = (spread <= STILL * spread.max()).tolist()
    return LatentOrder(latents, spread, dead, carried, centre, spread)


def _descending(values: Float[Tensor, " latent"]) -> list[int]:
    latents: list[int] = values.argsort(descending=True, stable=True).tolist()
    return latents


def _carried(
    codes: Float[Tensor, "point latent"], positions: Int[Tensor, "point factor"], active: list[bool]
) -> list[Carried | None]:
    if not positions.shape[1]:
        return [None] * codes.shape[1]
    most, factor = _information(codes, positions).max(dim=1)
    return [
        Carried(int(factor[latent]), float(most[latent])) if use and most[latent] > 0 else None
        for latent, use in enumerate(active)
    ]


def _information(
    codes: Float[Tensor, "point latent"], factors: Int[Tensor, "point factor"]
) -> Float[Tensor, "latent factor"]:
    """Mutual information in nats, minus that of the codes with shuffled factors.

    On a few thousand points, codes share some information with any factor by chance, and more with
    a factor of many values. Non-finite codes count as 0.
    """
    codes = codes.where(codes.isfinite(), 0.0)
    shuffled = factors[torch.from_numpy(host_generator(0).permutation(len(factors)))]
    information = information_gaps(codes, factors, BINS).mutual_information
    return (information - information_gaps(codes, shuffled, BINS).mutual_information).clamp(min=0.0)
