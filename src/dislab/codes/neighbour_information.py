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
    repeated = counts > 1
    if not repeated.any():
        return codes.new_zeros(codes.shape[1])
    labels, counts = column[repeated], counts[repeated]
    spread = codes.std(0, correction=0)
    noise = torch.from_numpy(generator.normal(size=codes.shape)).to(codes)
    scaled = codes / torch.where(spread > 0, spread, 1.0)
    scaled = (scaled - scaled.mean(0) + JITTER * noise)[repeated]
    near = torch.minimum(counts - 1, torch.full_like(counts, neighbours))
    digamma = torch.digamma
    label_term = digamma(near.double()).mean() - digamma(counts.double()).mean()
    total = digamma(torch.tensor(float(len(labels)), dtype=torch.float64, device=codes.device))
    within = torch.stack([_counts_within(latent, labels, near) for latent in scaled.T.contiguous()])
    information = (total + label_term - digamma(within.double()).mean(1)).clamp(min=0.0)
    return torch.where(spread > 0, information, 0.0)


def _counts_within(
    codes: Float[Tensor, " image"], labels: Int[Tensor, " image"], near: Int[Tensor, " image"]
) -> Int[Tensor, " image"]:
    """For each code, the number of codes, with itself, nearer than its k-th neighbour."""
    ascending, order = codes.sort()
    grouped = labels[order].argsort(stable=True)
    code = ascending[grouped]  # ordered by label, then by code
    kinds = labels[order][grouped]
    radius = _reach(code, kinds, near[order][grouped])
    # strictly within: the k-th neighbour itself must not count, even with rounding
    radius = radius - 4 * torch.finfo(code.dtype).eps * (code.abs() + radius)
    low = torch.searchsorted(ascending, code - radius, right=True)
    high = torch.searchsorted(ascending, code + radius)
    return (high - low).clamp(min=1)


def _reach(
    code: Float[Tensor, " image"], kinds: Int[Tensor, " image"], near: Int[Tensor, " image"]
) -> Float[Tensor, " image"]:
    """Distance of each code to its k-th neighbour of its label; sorted by label, then code.

    A code and its k nearest neighbours form a window of k + 1 sorted codes. The distance is the
    smallest, over all such windows, of the code's distance to the farther end.
    """
    images = len(code)
    position = torch.arange(images, device=code.device)
    reach = torch.full_like(code, torch.inf)
    for below in range(int(near.max()) + 1):
        low, high = position - below, position - below + near
        inside = (below <= near) & (low >= 0) & (high < images)
        low, high = low.clamp(min=0), high.clamp(max=images - 1)
        inside &= (kinds[low] == kinds) & (kinds[high] == kinds)
        farther = torch.maximum(code - code[low], code[high] - code)
        reach = torch.where(inside, torch.minimum(reach, farther), reach)
    return reach
