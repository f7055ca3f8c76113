"""Discrete mutual information of latents and factors, in nats."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

CODES_AT_ONCE: Final = 8192
"""Codes that are binned together: temporaries that stay in the cache; changes no result."""


class InformationGaps(NamedTuple):
    """What the mutual information gap is made of.

    Attributes:
        mutual_information: Nats, shape (latent, factor).
        entropy: Nats, shape (factor,).
        gap: Share of a factor's entropy by which the most informative latent is ahead of the
            second, shape (factor,); NaN where the entropy is zero.
    """

    mutual_information: Tensor
    entropy: Tensor
    gap: Tensor


def bin_numbers(codes: Float[Tensor, "image latent"], bins: int) -> Int[Tensor, "image latent"]:
    """Which of its latent's equal-width bins each code falls in, from 0.

    The bins of a latent divide the span from its smallest to its largest code. A code on an inner
    edge belongs to the upper bin, the largest code to the last bin. A latent that never changes
    has all its codes in one bin.

    Args:
        codes: Finite codes.
        bins: Number of bins.
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
        # Division may put a code that lies on an edge, or next to it, one bin off.
        guess -= (part < guess * width + low).to(guess.dtype)
        guess += (part >= (guess + 1) * width + low).to(guess.dtype)
        out.copy_(guess.clamp_(max=bins - 1))
    return numbers.T


def joint_counts(
    binned: Int[Tensor, "image latent"], factors: Int[Tensor, "image factor"], bins: int = 0
) -> list[Int[Tensor, "latent bin value"]]:
    """How often each bin of each latent meets each value, one table a factor.

    Args:
        binned: Bin numbers.
        factors: Positions: value numbers.
        bins: Number of bins; 0 takes as many as the bin numbers need.
    """
    latents, bins = binned.shape[1], bins or int(binned.max()) + 1
    # 32 bits count more cells than fit in memory, and halve what is moved.
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

    The information is exactly 0 where counts are independent, as of a latent that stands still, and
    so is the entropy of a single value; rounding would leave a trace, which ratios would magnify.

    Args:
        counts: How often each bin meets each value; of one set of images, or of many.
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

    Chen et al. (2018), https://arxiv.org/abs/1802.04942, eq. 6. With one latent the second
    most informative one counts as uninformative.

    Args:
        counts: How often each bin meets each value, one table a factor; of one set of images, or
            of many, whose results then stand along the leading axes.
    """
    pairs = [mutual_information(table) for table in counts]
    information = torch.stack([one for one, _ in pairs], dim=-1)
    entropy = torch.stack([one for _, one in pairs], dim=-1)
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

    Args:
        codes: Finite codes, in float64 for the accuracy of the bins' edges.
        factors: Positions: value numbers.
        bins: Number of equal-width bins a latent.
    """
    return gaps_of_counts(joint_counts(bin_numbers(codes, bins), factors))


def _count_log(counts: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    wide = counts.double()
    return torch.xlogy(wide, wide)
