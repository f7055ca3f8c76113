"""How far a batch of codes is from filling the product of its latents' supports."""

from typing import Final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.functional.precision import full_precision

DISTANCES_AT_ONCE: Final = 2**20
"""Distances between points and codes that are held in memory together."""

STILL: Final = 0.05
"""The least standard deviation that codes are divided by: a latent that stands still stays so."""


@full_precision
def hausdorff_gaps(
    codes: Float[Tensor, "batch latent"],
    pairs: Int[Tensor, "pair 2"],
    points: Int[Tensor, "point pair 2"],
) -> Float[Tensor, " pair"]:
    """Squared Hausdorff distance of each pair of latents from the product of its two supports.

    max over points of min over the batch of squared Euclidean distance, in the plane of the two
    latents. A point takes one coordinate from one image's code and the other from another's. As
    the batch is a part of the product, this one direction is the whole distance. The gradient is
    that of the one distance that a pair ends with, so that memory for it does not depend on the
    number of points.

    Roth et al. (2023), https://arxiv.org/abs/2210.07347, section 3.

    Args:
        codes: Codes of the global batch.
        pairs: The two latents of each pair.
        points: For each point and pair the two images whose codes give its coordinates.
    """
    planes = codes[:, pairs]
    product = planes.gather(0, points)
    worst, nearest = _farthest(planes.detach(), product.detach())
    point = product.gather(0, _both(worst)).squeeze(0)
    code = planes.gather(0, _both(nearest)).squeeze(0)
    return (point - code).square().sum(1)


@full_precision
def unit_scale(codes: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
    """Codes divided by each latent's standard deviation over the batch, which is at least 0.05.

    Args:
        codes: Codes of the global batch.
    """
    variance = codes.var(0, correction=0)
    return codes / variance.clamp(min=STILL**2).sqrt()


@full_precision
def missing_spread(codes: Float[Tensor, "batch latent"]) -> Float[Tensor, ""]:
    """By how much the latents' ranges over the batch fail to cover [0, 1], summed over latents.

    Args:
        codes: Codes of the global batch.
    """
    return ((1 - codes.amax(0)).relu() + codes.amin(0).relu()).sum()


def _farthest(
    planes: Float[Tensor, "batch pair 2"], product: Float[Tensor, "point pair 2"]
) -> tuple[Int[Tensor, " pair"], Int[Tensor, " pair"]]:
    """For each pair the point farthest from all codes, and the code that is nearest to it."""
    batch, pairs, _ = planes.shape
    rows = max(1, DISTANCES_AT_ONCE // (batch * pairs))
    gaps, nearest = [], []
    for some in torch.split(product, rows):
        difference = some[:, None] - planes
        gap, code = (difference[..., 0].square() + difference[..., 1].square()).min(1)
        gaps.append(gap)
        nearest.append(code)
    worst = torch.cat(gaps).argmax(0)
    return worst, torch.cat(nearest).gather(0, worst[None]).squeeze(0)


def _both(rows: Int[Tensor, " pair"]) -> Int[Tensor, "1 pair 2"]:
    """The same row for both coordinates, as `gather` asks for it."""
    return rows[None, :, None].expand(1, len(rows), 2)
