"""Statistics of the columns of codes: ranks, assignments, covariance, principal components."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dislab.errors import InputError


def average_ranks(columns: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    """Ranks within each column, from 1; equal entries share the mean of their ranks."""
    ranks, order = _ascending_ranks(columns)
    return torch.empty_like(ranks).scatter_(1, order, ranks).T


def roc_auc(
    scores: Float[Tensor, "row column"], positive: Bool[Tensor, "row column"]
) -> Float[Tensor, " column"]:
    """Probability that a positive row has a higher score than a negative one; ties count half.

    NaN if all rows are positive or none is. Hanley & McNeil (1982),
    https://doi.org/10.1148/radiology.143.1.7063747.
    """
    ranks, order = _ascending_ranks(scores)
    count = positive.double().sum(0)
    positive_ranks = ranks * positive.T.contiguous().gather(
        1, order
    )  # the order of rows is irrelevant
    above = positive_ranks.sum(1) - count * (count + 1) / 2
    return above / (count * (len(scores) - count))


def _ascending_ranks(
    columns: Float[Tensor, "row column"],
) -> tuple[Float[Tensor, "column row"], Int[Tensor, "column row"]]:
    """Ranks of each column's entries in ascending order, and the rows of these entries."""
    ascending, order = columns.T.contiguous().sort(dim=1)
    rows = ascending.shape[1]
    position = torch.arange(rows, device=columns.device, dtype=torch.float64).expand_as(ascending)
    edge = torch.ones_like(ascending[:, :1], dtype=torch.bool)
    changes = torch.cat([edge, ascending[:, 1:] != ascending[:, :-1], edge], dim=1)
    # equal entries share the places from their first to their last one
    first = position.where(changes[:, :-1], 0.0).cummax(1).values
    last = position.where(changes[:, 1:], rows - 1.0).flip(1).cummin(1).values.flip(1)
    return (first + last) / 2 + 1, order


def assignment(strength: Float[Tensor, "latent factor"]) -> Int[Tensor, " factor"]:
    """The latent of each factor, one to one, such that the sum of strengths is largest; -1 none."""
    from scipy.optimize import linear_sum_assignment

    latents, factors = linear_sum_assignment(strength.cpu().numpy(), maximize=True)
    chosen = torch.full((strength.shape[1],), -1, device=strength.device)
    chosen[factors] = torch.from_numpy(latents).to(strength.device)
    return chosen


def assigned(strength: Float[Tensor, "latent factor"]) -> Float[Tensor, " factor"]:
    """The strength of each factor's latent, one to one, such that the sum is largest; else 0."""
    latents = assignment(strength)
    return strength.gather(0, latents.clamp(min=0)[None])[0].where(latents >= 0, 0.0)


def covariance(codes: Float[Tensor, "image latent"]) -> Float[Tensor, "latent latent"]:
    """Unbiased covariance of the latents of at least two images, exactly 0 for constant latents."""
    moving = (codes != codes[:1]).any(0)
    centred = (codes - codes.mean(0)) * moving
    return centred.T @ centred / (len(codes) - 1)


def check_groups(groups: Sequence[Sequence[int]], columns: int, setting: str = "groups") -> None:
    """Refuses groups that are empty, overlap, or name missing columns."""
    if not groups or not all(map(len, groups)):
        lists = [list(group) for group in groups]
        raise InputError(f"{setting} are {lists}; give each at least one column")
    members = [column for group in groups for column in group]
    for column in members:
        if not 0 <= column < columns:
            raise InputError(
                f"{setting} name column {column}; codes have columns 0 to {columns - 1}"
            )
    if len(set(members)) < len(members):
        twice = next(column for column in members if members.count(column) > 1)
        raise InputError(f"{setting} name column {twice} twice; a column belongs to one latent")


def first_components(
    codes: Float[Tensor, "image column"], groups: Sequence[Sequence[int]]
) -> Float[Tensor, "image group"]:
    """The first principal component of each group of centred columns.

    Du et al. (2021), https://arxiv.org/abs/2111.03042, and Yang et al. (2022),
    https://arxiv.org/abs/2205.15375, score vector-valued latents by it. The largest weight of a
    component is positive. A group of one column is returned unchanged.
    """
    components = []
    for group in groups:
        block = codes[:, list(group)]
        if len(group) > 1:
            block = block - block.mean(0)
            weights = torch.linalg.eigh(block.T @ block).eigenvectors[:, -1]
            block = block @ (weights * weights[weights.abs().argmax()].sign())[:, None]
        components.append(block[:, 0])
    return torch.stack(components, dim=1)
