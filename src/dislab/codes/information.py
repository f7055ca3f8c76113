"""Discrete mutual information of latents and factors, in nats, and scores of its matrix."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

_CODES_AT_ONCE: Final = 8192
"""Number of codes binned together, so that temporaries stay in the cache; changes no result."""

_JITTER: Final = 1e-10
"""Noise that separates equal codes, in standard deviations of their latent."""


class InformationGaps(NamedTuple):
    """Mutual information, and the entropies and gaps of factors.

    Attributes:
        mutual_information: Nats, shape (latent, factor).
        entropy: Nats, shape (factor,).
        gap: Difference in information of the two most informative latents, divided by the factor's
            entropy, shape (factor,); NaN if the entropy is zero.
    """

    mutual_information: Tensor
    entropy: Tensor
    gap: Tensor


def bin_numbers(codes: Float[Tensor, "image latent"], bins: int) -> Int[Tensor, "image latent"]:
    """Number of the equal-width bin of each code, from 0.

    The bins of a latent divide the range from its smallest to its largest code. A code on an inner
    edge belongs to the upper bin, the largest code to the last bin. A constant latent has all its
    codes in one bin.
    """
    columns = codes.T.contiguous()  # neighbours in memory share their bins' edges
    low, high = columns.amin(1, keepdim=True), columns.amax(1, keepdim=True)
    still = low == high
    low, high = torch.where(still, low - 0.5, low), torch.where(still, high + 0.5, high)
    width = (high - low) / bins
    numbers = torch.empty(columns.shape, dtype=torch.int64, device=codes.device)
    images = max(1, _CODES_AT_ONCE // codes.shape[1])
    parts = torch.split(columns, images, dim=1), torch.split(numbers, images, dim=1)
    for part, out in zip(*parts, strict=True):
        guess = ((part - low) / width).floor_().clamp_(0, bins - 1)
        # Rounding may put a code on or next to an edge into a neighbouring bin.
        guess -= (part < guess * width + low).to(guess.dtype)
        guess += (part >= (guess + 1) * width + low).to(guess.dtype)
        out.copy_(guess.clamp_(max=bins - 1))
    return numbers.T


def joint_counts(
    binned: Int[Tensor, "image latent"], factors: Int[Tensor, "image factor"], bins: int = 0
) -> list[Int[Tensor, "latent bin value"]]:
    """Number of images in each bin of a latent with each value, one table per factor.

    Args:
        binned: Bin numbers.
        factors: Positions: value numbers.
        bins: Number of bins; 0 takes as many as the bin numbers need.
    """
    latents, bins = binned.shape[1], bins or int(binned.max()) + 1
    # 32 bits suffice for all cells that fit into memory, and halve the memory traffic.
    cells = (binned.T + torch.arange(latents, device=binned.device)[:, None] * bins).int()
    tables = []
    for column in factors.T.int().contiguous():
        values = int(column.max()) + 1
        flat = torch.add(column, cells, alpha=values).flatten()
        counts = torch.bincount(flat, minlength=latents * bins * values)
        tables.append(counts.view(latents, bins, values))
    return tables


def mutual_information(
    counts: Int[Tensor, "*many latent bin value"],
) -> tuple[Float[Tensor, "*many latent"], Float[Tensor, "*many"]]:
    """Mutual information of each latent with a factor, and the factor's entropy, in nats.

    The information is exactly 0 if counts are independent, as for a constant latent, and so is the
    entropy of a single value: ratios would magnify a rounding error.
    """
    values = counts[..., 0, :, :].sum(-2)
    total = values.sum(-1)
    log_total = total.double().log()
    joint = _count_log(counts).sum((-2, -1))
    bins = counts.sum(-1)
    rows, columns = _count_log(bins).sum(-1), _count_log(values).sum(-1)
    gained = (joint - rows - columns[..., None]) / total[..., None]
    information = (log_total[..., None] + gained).clamp(min=0.0)
    expected = bins[..., None] * values[..., None, None, :]
    dependent = (counts * total[..., None, None, None] != expected).any(-1).any(-1)
    several = (values < total[..., None]).all(-1)
    return information * dependent, (log_total - columns / total).clamp(min=0.0) * several


def gaps_of_counts(counts: Sequence[Int[Tensor, "*many latent bin _"]]) -> InformationGaps:
    """The mutual information of all latents and factors, and the gap of each factor.

    Chen et al. (2018), https://arxiv.org/abs/1802.04942, eq. 6. With a single latent, the second
    largest information counts as 0.

    Args:
        counts: Table of counts of each factor; leading axes of many sets of images are kept.
    """
    pairs = [mutual_information(table) for table in counts]
    information = torch.stack([values for values, _ in pairs], dim=-1)
    entropy = torch.stack([values for _, values in pairs], dim=-1)
    padded = torch.cat([information, torch.zeros_like(information[..., :1, :])], dim=-2)
    best = padded.topk(2, dim=-2).values
    ahead = best[..., 0, :] - best[..., 1, :]
    return InformationGaps(
        information, entropy, torch.where(entropy > 0, ahead / entropy, torch.nan)
    )


def information_gaps(
    codes: Float[Tensor, "image latent"], factors: Int[Tensor, "image factor"], bins: int
) -> InformationGaps:
    """The mutual information of all latents and factors, and the gap of each factor.

    Codes are in float64 for exact bin edges.
    """
    return gaps_of_counts(joint_counts(bin_numbers(codes, bins), factors))


def _count_log(counts: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    wide = counts.double()
    return torch.xlogy(wide, wide)


def entropies(factors: Int[Tensor, "image factor"]) -> Float[Tensor, " factor"]:
    """Entropy in nats of each factor among the images; 0 for one that takes a single value.

    Args:
        factors: Positions: value numbers.
    """
    one_bin = torch.zeros_like(factors[:, :1])
    return gaps_of_counts(joint_counts(one_bin, factors)).entropy


def informed_latents(
    information: Float[Tensor, "latent factor"], entropy: Float[Tensor, " factor"], share: float
) -> Bool[Tensor, " latent"]:
    """Which latents hold at least a `share` of some factor's entropy; entropies are above 0."""
    largest = (information / entropy).max(1).values
    return (largest >= share) & (largest > 0)


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
    scaled = (scaled - scaled.mean(0) + _JITTER * noise)[repeated]
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
