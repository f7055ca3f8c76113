"""Hausdorff distance of a batch of codes from the product of its latents' supports."""

from typing import Final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.functional.runtime import full_precision

DISTANCES_AT_ONCE: Final = 2**20
"""Maximum number of distances between points and codes held in memory at once."""

STILL: Final = 0.05
"""Minimum standard deviation to divide codes by, so that inactive latents are not scaled up."""


@full_precision
def hausdorff_gaps(
    codes: Float[Tensor, "batch latent"],
    pairs: Int[Tensor, "pair 2"],
    points: Int[Tensor, "point pair 2"],
) -> Float[Tensor, " pair"]:
    """Squared Hausdorff distance between the codes of each pair of latents and their product set.

    It is the maximum over points of the minimum over the batch of the squared Euclidean distance,
    in the plane of the two latents. The two coordinates of a point come from the codes of two
    images. As the batch is a subset of the product, the distance in this direction is the Hausdorff
    distance. The gradient flows only through the resulting distance of each pair, so that its
    memory does not depend on the number of points.

    Roth et al. (2023), https://arxiv.org/abs/2210.07347, section 3.

    Args:
        codes: Codes of the global batch.
        pairs: Indices of the two latents of each pair.
        points: For each point and pair, indices of the two images that provide its coordinates.
    """
    planes = codes[:, pairs]
    product = planes.gather(0, points)
    worst, nearest = _farthest(planes.detach(), product.detach())
    point = product.gather(0, _both(worst)).squeeze(0)
    code = planes.gather(0, _both(nearest)).squeeze(0)
    return (point - code).square().sum(1)


@full_precision
def unit_scale(codes: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
    """Divides codes by each latent's standard deviation over the batch, but at least by 0.05.

    Args:
        codes: Codes of the global batch.
    """
    variance = codes.var(0, correction=0)
    return codes / variance.clamp(min=STILL**2).sqrt()


@full_precision
def missing_spread(codes: Float[Tensor, "batch latent"]) -> Float[Tensor, ""]:
    """Length of [0, 1] that each latent's range over the batch does not cover, summed over latents.

    Args:
        codes: Codes of the global batch.
    """
    return ((1 - codes.amax(0)).relu() + codes.amin(0).relu()).sum()


def _farthest(
    planes: Float[Tensor, "batch pair 2"], product: Float[Tensor, "point pair 2"]
) -> tuple[Int[Tensor, " pair"], Int[Tensor, " pair"]]:
    """For each pair, finds the point farthest from all codes, and the code nearest to it."""
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
    """Repeats the row for both coordinates, as `gather` requires."""
    return rows[None, :, None].expand(1, len(rows), 2)
