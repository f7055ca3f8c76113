"""Mutual information of continuous latents and factors, estimated from nearest neighbours."""

from typing import Final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

JITTER: Final = 1e-10
"""Noise that separates equal codes, in standard deviations of their latent."""


def neighbour_information(
    codes: Float[Tensor, "image latent"],
    column: Int[Tensor, " image"],
    neighbours: int,
    generator: np.random.Generator,
) -> Float[Tensor, " latent"]:
    """Mutual information of each latent with a factor, in nats, without bins.

    For each image, the estimator takes the distance to the k-th neighbour (k is `neighbours`) among
    the images with the same value, and counts the images of any value within this distance. Ross
    (2014), https://doi.org/10.1371/journal.pone.0087357, eq. 2. Values with a single image are left
    out; for values with at most k images, k is reduced. A little noise separates equal codes.
    """
    counts = torch.bincount(column)[column]
    kept = counts > 1
    if not kept.any():
        return codes.new_zeros(codes.shape[1])
    labels, counts = column[kept], counts[kept]
    spread = codes.std(0, correction=0)
    noise = torch.from_numpy(generator.normal(size=codes.shape)).to(codes)
    scaled = codes / torch.where(spread > 0, spread, 1.0)
    scaled = (scaled - scaled.mean(0) + JITTER * noise)[kept]
    near = torch.minimum(counts - 1, torch.full_like(counts, neighbours))
    digamma = torch.digamma
    known = digamma(near.double()).mean() - digamma(counts.double()).mean()
    total = digamma(torch.tensor(float(len(labels)), dtype=torch.float64, device=codes.device))
    within = torch.stack([_counts_within(one, labels, near) for one in scaled.T.contiguous()])
    information = (total + known - digamma(within.double()).mean(1)).clamp(min=0.0)
    return torch.where(spread > 0, information, 0.0)


def _counts_within(
    codes: Float[Tensor, " image"], labels: Int[Tensor, " image"], near: Int[Tensor, " image"]
) -> Int[Tensor, " image"]:
    """For each code, the number of codes, with itself, nearer than its k-th neighbour."""
    ascending, order = codes.sort()
    grouped = labels[order].argsort(stable=True)
    own = ascending[grouped]  # ordered by label, then by code
    kinds = labels[order][grouped]
    radius = _reach(own, kinds, near[order][grouped])
    # strictly within: the k-th neighbour itself must not count, even with rounding
    radius = radius - 4 * torch.finfo(own.dtype).eps * (own.abs() + radius)
    low = torch.searchsorted(ascending, own - radius, right=True)
    high = torch.searchsorted(ascending, own + radius)
    return (high - low).clamp(min=1)


def _reach(
    own: Float[Tensor, " image"], kinds: Int[Tensor, " image"], near: Int[Tensor, " image"]
) -> Float[Tensor, " image"]:
    """Distance of each code to its k-th neighbour of its label; sorted by label, then code.

    A code and its k nearest neighbours form a window of k + 1 sorted codes. The distance is the
    smallest, over all such windows, of the code's distance to the farther end.
    """
    images = len(own)
    place = torch.arange(images, device=own.device)
    reach = torch.full_like(own, torch.inf)
    for below in range(int(near.max()) + 1):
        left, right = place - below, place - below + near
        inside = (below <= near) & (left >= 0) & (right < images)
        left, right = left.clamp(min=0), right.clamp(max=images - 1)
        inside &= (kinds[left] == kinds) & (kinds[right] == kinds)
        farther = torch.maximum(own - own[left], own[right] - own)
        reach = torch.where(inside, torch.minimum(reach, farther), reach)
    return reach
