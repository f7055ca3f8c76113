"""True factors as the inputs of a network."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def normalized(
    factors: Int[Tensor, "batch factor"], last: Float[Tensor, " factor"]
) -> Float[Tensor, "batch factor"]:
    """Positions from 0, the first value, to 1, the last one; 0 for a factor of a single value.

    Args:
        factors: Positions: value numbers.
        last: Number of each factor's last value, its size less one.
    """
    return factors / last.clamp(min=1.0)


def one_hot(numbers: Int[Tensor, " batch"], size: int) -> Bool[Tensor, "batch size"]:
    """True in the column of each number, without waiting for the device.

    Args:
        numbers: From 0 to size − 1.
        size: Number of columns.
    """
    return numbers[:, None] == torch.arange(size, device=numbers.device)


def factor_inputs(
    factors: Int[Tensor, "batch factor"],
    last: Float[Tensor, " factor"],
    sizes: Sequence[int],
    as_one_hot: Sequence[int],
) -> Float[Tensor, "batch inputs"]:
    """One number in [0, 1] for each factor, or one number a value for those that are one-hot.

    Args:
        factors: Positions: value numbers.
        last: Number of each factor's last value, its size less one.
        sizes: Number of values of each factor.
        as_one_hot: Numbers of the factors that become one-hot vectors, in place.
    """
    scaled = normalized(factors, last)
    columns = []
    for factor, size in enumerate(sizes):
        if factor in as_one_hot:
            columns.append(one_hot(factors[:, factor], size).to(scaled.dtype))
        else:
            columns.append(scaled[:, factor, None])
    return torch.cat(columns, dim=1)
