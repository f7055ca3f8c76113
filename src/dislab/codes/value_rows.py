"""Where the images of each value of a factor are."""

from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor


class ValueRows(NamedTuple):
    """The rows of value v are `order[first[v] : first[v] + size[v]]`, ascending.

    Attributes:
        order: All rows, sorted by value, shape (image,).
        first: Where in `order` each value begins, shape (value,).
        size: How many images have each value, shape (value,).
    """

    order: Tensor
    first: Tensor
    size: Tensor


def rows_of(column: Int[Tensor, " image"]) -> ValueRows:
    """The rows of each value of one factor.

    Args:
        column: Value numbers.
    """
    size = torch.bincount(column)
    return ValueRows(column.argsort(stable=True), size.cumsum(0) - size, size)
