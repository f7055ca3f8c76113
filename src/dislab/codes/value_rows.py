"""Rows of the images with each value of a factor."""

from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor


class ValueRows(NamedTuple):
    """The rows of value v are `order[first[v] : first[v] + size[v]]`, ascending.

    Attributes:
        order: All rows, sorted by value, shape (image,).
        first: Place in `order` of the first row of each value, shape (value,).
        size: Number of images of each value, shape (value,).
    """

    order: Tensor
    first: Tensor
    size: Tensor


def rows_of(column: Int[Tensor, " image"]) -> ValueRows:
    """The rows of each value of one factor, from its value numbers."""
    size = torch.bincount(column)
    return ValueRows(column.argsort(stable=True), size.cumsum(0) - size, size)
