"""Order of the latents by activity, and the factor that each encodes."""

from typing import Final, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dislab.codes.information import information_gaps
from dislab.functional.random import host_generator

BINS: Final = 20
ACTIVE: Final = 0.01
"""KL divergence in nats above which a latent counts as active."""
NONE_ACTIVE: Final = f"the KL of each is at most {ACTIVE} nats"
"""What it means that no latent is active."""
NAMED: Final = 0.1
"""KL divergence in nats above which a factor is named for a latent. A sample of a latent carries no
more information than its KL, even if its mean does."""
STILL: Final = 1e-6
"""Share of the largest standard deviation up to which a code without a posterior counts as dead."""
_NAMED_SPREAD: Final = 0.01
"""Share of the largest standard deviation above which a factor is named for a code without a
posterior."""
LEAST: Final = 0.1
"""What a latent must know about a factor to carry it: this share of the factor's entropy, and at
least as many nats, as estimates of fewer may be chance."""
MAIN: Final = 0.5
"""Share of the information about a factor above which a latent is its own."""
PART: Final = 0.25
"""Share of the information about a factor from which on a latent may be named after it."""


_SURE: Final = 3.0
"""Standard deviations of estimates by chance above which information counts."""


class Carried(NamedTuple):
    """The factor of whose information a latent holds most.

    Attributes:
        factor: Number of the factor whose own latent this is, else of that of whose information,
            summed over the latents, it holds the largest share, at least a quarter.
        nats: Mutual information, minus that with shuffled factors.
        is_own: Whether the latent is the factor's own, as in `own_latents`.
    """

    factor: int
    nats: float
    is_own: bool


class LatentOrder(NamedTuple):
    """Order of the latents in pictures, and their properties by latent number.

    Attributes:
        latents: Numbers of the latents, the most active one first.
        amount: KL divergence in nats for methods with posteriors, else the standard deviation of
            the codes, shape (latent,).
        dead: Whether each latent is inactive.
        in_use: Whether each latent has a KL above 0.1 nats or, without a posterior, codes that
            spread more than a hundredth as much as the most spread ones.
        carried: The factor of each latent, as in `carried_factors`; None for latents that are not
            in use, and for those that hold too little about every factor.
        main: The main latent of each factor, as in `main_latents`.
        information: Mutual information in nats, minus that with shuffled factors, shape (latent,
            factor).
        centre: Origin of each latent's traversal, in the unit of its codes, shape (latent,).
        scale: One standard deviation of each latent, likewise.
    """

    latents: list[int]
    amount: Tensor
    dead: list[bool]
    in_use: list[bool]
    carried: list[Carried | None]
    main: list[int | None]
    information: Tensor
    centre: Tensor
    scale: Tensor


def order_by_kl(
    means: Float[Tensor, "point latent"],
    kl: Float[Tensor, " latent"],
    positions: Int[Tensor, "point factor"],
) -> LatentOrder:
    """Orders latents by the mean KL divergence of their posteriors from the prior, in nats."""
    in_use = kl > NAMED
    carried, main, information = _carried(means, positions, in_use)
    dead: list[bool] = (kl <= ACTIVE).tolist()
    centre, scale = torch.zeros_like(kl), torch.ones_like(kl)
    return LatentOrder(
        _descending(kl), kl, dead, in_use.tolist(), carried, main, information, centre, scale
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
    in_use = spread > _NAMED_SPREAD * spread.max()
    carried, main, information = _carried(codes, positions, in_use)
    dead: list[bool] = (spread <= STILL * spread.max()).tolist()
    return LatentOrder(
        latents, spread, dead, in_use.tolist(), carried, main, information, centre, spread
    )


def least_information(
    entropy: Float[Tensor, " factor"], noise: Float[Tensor, " factor"]
) -> Float[Tensor, " factor"]:
    """Nats that a latent must know about each factor to carry it: a tenth of the entropy, or 0.1.

    With few images, it must know more than the `noise`.

    Args:
        entropy: Entropy of each factor in nats.
        noise: Result of `chance_noise`.
    """
    return (LEAST * entropy).clamp(min=LEAST).maximum(noise)


def chance_noise(
    by_chance: Float[Tensor, "latent factor"], images: int
) -> Float[Tensor, " factor"]:
    """Nats by which estimates of no information may differ by chance: three standard deviations.

    The estimate from n images of independent variables is χ² / 2n, so that its variance is its mean
    over n; in tables of few images a cell the variance is smaller. Two estimates differ, that of
    the images and that with shuffled factors. With thousands of images the noise is below 0.1.

    Args:
        by_chance: Mutual information with shuffled factors, in nats.
        images: Number of images.
    """
    return _SURE * (2 * by_chance.amax(0) / max(1, images)).sqrt()


def main_latents(
    information: Float[Tensor, "latent factor"], least: Float[Tensor, " factor"]
) -> list[int | None]:
    """The latent that holds most about each factor; None for a factor that is spread, or nowhere.

    It holds enough nats, and more than half of the information about the factor, summed over the
    latents.

    Args:
        information: Mutual information in nats; 0 for latents that are not in use.
        least: Result of `least_information`.
    """
    largest, latents = information.max(dim=0)
    is_main = (largest > least) & (largest > MAIN * information.sum(dim=0))
    return [
        latent if main else None
        for latent, main in zip(latents.tolist(), is_main.tolist(), strict=True)
    ]


def own_latents(
    information: Float[Tensor, "latent factor"], least: Float[Tensor, " factor"]
) -> list[int | None]:
    """The latent of its own of each factor: its main latent, if it is that of no other factor.

    Args:
        information: Mutual information in nats; 0 for latents that are not in use.
        least: Result of `least_information`.
    """
    main = main_latents(information, least)
    return [latent if main.count(latent) == 1 else None for latent in main]


def carried_factors(
    information: Float[Tensor, "latent factor"],
    least: Float[Tensor, " factor"],
    noise: Float[Tensor, " factor"],
) -> list[Carried | None]:
    """The factor of each latent: of those that it holds most about, or a quarter of what all know.

    It must hold more than 0.1 nats and the noise, and all latents together more than the least.
    It is the factor of its own, else that of the largest share; None if there is none.

    Args:
        information: Mutual information in nats; 0 for latents that are not in use.
        least: Result of `least_information`.
        noise: Result of `chance_noise`.
    """
    own = own_latents(information, least)
    total = information.sum(0)
    shares = information / total.clamp(min=LEAST)
    counts = (information > noise.clamp(min=LEAST)) & (total > least)
    is_most = torch.arange(len(information))[:, None] == information.argmax(0)
    counts &= is_most | (shares >= PART)
    shares = shares.where(counts, 0.0)
    carried: list[Carried | None] = []
    for latent, row in enumerate(information):
        is_own = latent in own
        factor = own.index(latent) if is_own else int(shares[latent].argmax())
        is_named = is_own or bool(counts[latent, factor])
        carried.append(Carried(factor, float(row[factor]), is_own) if is_named else None)
    return carried


def _descending(values: Float[Tensor, " latent"]) -> list[int]:
    latents: list[int] = values.argsort(descending=True, stable=True).tolist()
    return latents


def _carried(
    codes: Float[Tensor, "point latent"],
    positions: Int[Tensor, "point factor"],
    in_use: Bool[Tensor, " latent"],
) -> tuple[list[Carried | None], list[int | None], Float[Tensor, "latent factor"]]:
    """The factor of each latent, the main latent of each factor, and the information of all."""
    if not positions.shape[1]:
        return [None] * codes.shape[1], [], codes.new_zeros(codes.shape[1], 0)
    information, least, noise = _information(codes, positions)
    used = information * in_use[:, None]
    return carried_factors(used, least, noise), main_latents(used, least), information


def _information(
    codes: Float[Tensor, "point latent"], factors: Int[Tensor, "point factor"]
) -> tuple[Float[Tensor, "latent factor"], Float[Tensor, " factor"], Float[Tensor, " factor"]]:
    """Mutual information in nats, minus that with shuffled factors, the least that counts, noise.

    On a few thousand points, codes share some information with any factor by chance, and more with
    a factor of many values; on few points, it also varies much. Non-finite codes count as 0.
    """
    codes = codes.where(codes.isfinite(), 0.0)
    shuffled = factors[torch.from_numpy(host_generator(0).permutation(len(factors)))]
    gaps = information_gaps(codes, factors, BINS)
    by_chance = information_gaps(codes, shuffled, BINS).mutual_information
    noise = chance_noise(by_chance, len(codes))
    least = least_information(gaps.entropy, noise)
    return (gaps.mutual_information - by_chance).clamp(min=0.0), least, noise


def nats(amount: float) -> str:
    """An amount of information with two digits behind the point, three near `ACTIVE`.

    >>> nats(1.234), nats(0.0137)
    ('1.23', '0.014')
    """
    return f"{amount:.3f}" if ACTIVE / 2 <= amount < 10 * ACTIVE else f"{amount:.2f}"
