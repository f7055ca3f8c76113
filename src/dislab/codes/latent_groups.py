"""Vector-valued latents, each a group of columns."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.errors import InputError


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
