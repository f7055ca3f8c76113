"""Discrete mutual information of latents and factors, in nats, and scores of its matrix."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

EQUAL: Final = 1e-9
"""Difference in information, in nats, up to which two latents are equally informative."""
CODES_AT_ONCE: Final = 8192
"""Number of codes binned together, so that temporaries stay in the cache; changes no result."""


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
    images = max(1, CODES_AT_ONCE // codes.shape[1])
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


def modularity_per_latent(
    information: Float[Tensor, "latent factor"],
) -> Float[Tensor, " latent"]:
    """One minus the squared information about other factors, relative to the largest possible.

    It is 1 for a latent with information about one factor only, 0 for equal information about all,
    and 0 for no information. Ridgeway & Mozer (2018), https://arxiv.org/abs/1802.05312. There are
    at least two factors.
    """
    squared = information.square()
    best = squared.max(1).values
    others = (squared.sum(1) - best) / (squared.shape[1] - 1)
    return torch.where(best > 0, 1 - others / torch.where(best > 0, best, 1.0), 0.0)


def informed_latents(
    information: Float[Tensor, "latent factor"], entropy: Float[Tensor, " factor"], share: float
) -> Bool[Tensor, " latent"]:
    """Which latents hold at least a `share` of some factor's entropy; entropies are above 0."""
    largest = (information / entropy).max(1).values
    return (largest >= share) & (largest > 0)


def gaps_per_latent(
    information: Float[Tensor, "latent factor"], entropy: Float[Tensor, " factor"]
) -> Float[Tensor, " latent"]:
    """Difference of a latent's two largest informations, each divided by its factor's entropy.

    With a single factor, the second share counts as 0. Li et al. (2020),
    https://arxiv.org/abs/2002.10549.
    """
    share = information / entropy
    best = torch.cat([share, torch.zeros_like(share[:, :1])], dim=1).topk(2, dim=1).values
    return best[:, 0] - best[:, 1]


def joint_entropy_excess(
    information: Float[Tensor, "latent factor"],
    entropy: Float[Tensor, " factor"],
    latent_entropy: Float[Tensor, " latent"],
) -> Float[Tensor, " factor"]:
    """Joint entropy of a factor and its most informative latent, minus the gap, in nats.

    It is 0 at best: the latent then holds the factor and nothing else, and no other latent has
    information about it. Of equally informative latents, the one of smallest joint entropy counts.
    Do & Tran (2020), https://arxiv.org/abs/1908.09961.
    """
    padded = torch.cat([information, torch.zeros_like(information[:1])])
    best = padded.topk(2, dim=0).values
    tied = information >= best[0] - EQUAL
    best_entropy = torch.where(tied, latent_entropy[:, None], torch.inf).amin(0)
    joint = best_entropy + entropy - best[0]
    return (joint - best[0] + best[1]).clamp(min=0.0)


def exclusive_gaps(information: Float[Tensor, "latent factor"]) -> Float[Tensor, " factor"]:
    """For each factor, the largest gap to a second factor among its latents, in nats.

    A latent belongs to the factor about which it has most information. A factor without latents
    gets 0. Sepliarskaia et al. (2019), https://arxiv.org/abs/1910.05587.
    """
    padded = torch.cat([information, torch.zeros_like(information[:, :1])], dim=1)
    best, index = padded.topk(2, dim=1)
    gap = best[:, 0] - best[:, 1]
    factor_gaps = torch.zeros_like(padded).scatter(1, index[:, :1], gap[:, None])
    return factor_gaps[:, :-1].max(0).values


def concentration_ratio(
    shares: Float[Tensor, "row column"],
) -> Float[Tensor, " row"]:
    """The largest entry's share of each row, rescaled so that equal entries give 0.

    A row of zeros gives 0. Hsu et al. (2023), https://arxiv.org/abs/2305.18378; the mean over rows
    of a normalised matrix of mutual information is InfoM or InfoC.
    """
    columns = shares.shape[1]
    if columns < 2:
        return (shares[:, 0] > 0).to(shares.dtype)
    total = shares.sum(1)
    ratio = shares.max(1).values / torch.where(total > 0, total, 1.0)
    return torch.where(total > 0, (ratio - 1 / columns) / (1 - 1 / columns), 0.0).clamp(0.0, 1.0)


def bin_entropies(binned: Int[Tensor, "image latent"], bins: int) -> Float[Tensor, " latent"]:
    """Entropy of the bin numbers of each latent, in nats."""
    shift = torch.arange(binned.shape[1], device=binned.device) * bins
    counts = torch.bincount((binned + shift).flatten(), minlength=bins * binned.shape[1])
    wide = counts.view(-1, bins).double()
    entropy = math.log(len(binned)) - torch.xlogy(wide, wide).sum(1) / len(binned)
    return entropy.clamp(min=0.0) * (wide < len(binned)).all(1)  # exactly 0 for a single bin
