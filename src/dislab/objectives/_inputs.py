"""Checks of the input tensors of a trained method, with messages that name the allowed inputs.

Shapes and dtypes are known without waiting for the device, so that training steps may check them.
Values are checked only outside of training steps.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import torch
from torch import Tensor

from dislab.base import Draws, Objective
from dislab.errors import InputError

_SHOWN: Final = 8
"""Largest number of names listed in a message; the rest are counted."""


def checked_noise(owner: Objective, draws: Draws, mean: Tensor) -> Tensor:
    """The noise of draws; refuses other shapes than that of the means."""
    noise = draws.get("noise")
    if noise is None or noise.shape != mean.shape:
        got = "no noise" if noise is None else f"noise of shape {tuple(noise.shape)}"
        raise InputError(
            f"draws has {got}, and {tuple(mean.shape)} is asked for; pass what "
            f"{type(owner).__name__}.draw({len(mean)}, stream) returns"
        )
    return noise


def check_as_many(rows: Mapping[str, Tensor]) -> None:
    """Refuses tensors with unequal numbers of rows."""
    counts = {
        name: values.shape[0] for name, values in rows.items()
    }  # `len` would fix an export's rows
    first, *others = counts.values()
    if any(count != first for count in others):
        listing = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise InputError(f"there must be as many rows of each: {listing}")


def check_named(name: str, symbol: Tensor) -> None:
    """Refuses descriptions with numbers other than 0 (left open) and 1 (named)."""
    wrong = symbol[(symbol != 0) & (symbol != 1)]
    if len(wrong):
        raise InputError(
            f"{name} holds {float(wrong[0]):g}; an attribute is named by 1 and left open by 0"
        )


def check_numbers(name: str, numbers: Tensor, of: Sequence[str]) -> None:
    """Refuses anything but one index into `of` per row."""
    if numbers.ndim != 1 or not _is_whole(numbers):
        raise InputError(
            f"{name} is {numbers.dtype} of shape {tuple(numbers.shape)}; it has one whole number "
            "per image"
        )
    wrong = numbers[(numbers < 0) | (numbers >= len(of))]
    if len(wrong):
        raise InputError(
            f"{name} holds {int(wrong[0])}; it runs from 0 to {len(of) - 1}: {listed(of)}"
        )


def check_positions(factors: Tensor, names: Sequence[str], sizes: Sequence[int]) -> None:
    """Refuses positions of a wrong shape, and value numbers out of range."""
    if factors.ndim != 2 or factors.shape[1] != len(sizes) or not _is_whole(factors):
        raise InputError(
            f"factors is {factors.dtype} of shape {tuple(factors.shape)}; it has one row per image "
            f"and one whole number for each of {listed(names)}"
        )
    if torch.compiler.is_exporting():  # an exported program cannot check values
        return
    outside = (factors < 0) | (factors >= torch.tensor(sizes, device=factors.device))
    if outside.any():
        first = int(outside.any(0).nonzero()[0])
        raise InputError(
            f"factors holds {int(factors[outside[:, first], first][0])} for {names[first]}, whose "
            f"value numbers run from 0 to {sizes[first] - 1}"
        )


def listed(names: Sequence[str]) -> str:
    """Names for a message; if there are many, the last ones are only counted."""
    hidden = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {hidden} more" if hidden > 0 else "")


def _is_whole(numbers: Tensor) -> bool:
    return not (numbers.is_floating_point() or numbers.is_complex() or numbers.dtype == torch.bool)
