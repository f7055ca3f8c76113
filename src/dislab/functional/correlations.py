"""Correlations of latents with factors, and ranks."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def pearson(
    codes: Float[Tensor, "image latent"], factors: Float[Tensor, "image factor"]
) -> Float[Tensor, "latent factor"]:
    """Correlation of each latent with each factor, in [-1, 1]; 0 where either stands still.

    Args:
        codes: One column a latent.
        factors: One column a factor.
    """
    left, right = _unit(codes), _unit(factors)
    return (left.T @ right).clamp(-1.0, 1.0)


def average_ranks(columns: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    """Ranks within each column, from 1; equal entries share the mean of their ranks.

    Args:
        columns: What to rank.
    """
    rows = columns.T.contiguous()
    ascending = rows.sort(dim=1).values
    before = torch.searchsorted(ascending, rows)
    until = torch.searchsorted(ascending, rows, right=True)
    return ((before + until + 1).double() / 2).T


def roc_auc(
    scores: Float[Tensor, "row column"], positive: Bool[Tensor, "row column"]
) -> Float[Tensor, " column"]:
    """Chance that a positive row has a higher score than a negative one, ties counting half.

    NaN where all rows are positive or none is. Hanley & McNeil (1982),
    https://doi.org/10.1148/radiology.143.1.7063747.

    Args:
        scores: One column a question.
        positive: Which rows are positive.
    """
    ranks = average_ranks(scores)
    count = positive.double().sum(0)
    above = (ranks * positive).sum(0) - count * (count + 1) / 2
    return above / (count * (len(scores) - count))


def _unit(columns: Float[Tensor, "image column"]) -> Float[Tensor, "image column"]:
    centred = columns - columns.mean(0)
    # exactly 0 for a column that stands still, whose mean may be a rounding error off
    moving = (columns != columns[:1]).any(0)
    length = torch.where(moving, centred.norm(dim=0), 1.0)
    return centred * moving / torch.where(length > 0, length, 1.0)
