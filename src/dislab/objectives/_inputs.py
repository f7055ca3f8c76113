"""Checks of the tensors that a trained method is given, with messages that say what is allowed.

Shapes and kinds of number are known without waiting for the device, so that a step of training may
look at them. Values are looked at only where no step does.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import torch
from torch import Tensor

from dislab.base import Draws, Objective
from dislab.errors import InputError

_SHOWN: Final = 8
"""Names that a message lists before it only counts the rest."""


def checked_images(owner: Objective, image: Tensor, shape: Sequence[int]) -> Tensor:
    """The images, if a network for images of that shape can read them.

    Args:
        owner: The method, whose weights tell the kind of number.
        image: What was given.
        shape: Channels, height and width.

    Raises:
        InputError: They have another shape, or are no numbers of the weights' kind.
    """
    if image.ndim != 4 or image.shape[1:] != tuple(shape):
        size = "×".join(map(str, shape))
        raise InputError(
            f"images have shape {tuple(image.shape)}; {type(owner).__name__} was made for a batch "
            f"of {size}: channels, height, width"
        )
    _check_kind(owner, "images", image, "pixels in [0, 1]")
    return image


def checked_rows(owner: Objective, name: str, rows: Tensor, columns: int, each: str) -> Tensor:
    """The rows, if they have one number for each of what they tell.

    Args:
        owner: The method, whose weights tell the kind of number.
        name: The argument's name.
        rows: What was given.
        columns: How many numbers a row has.
        each: What a number stands for.

    Raises:
        InputError: They have another shape, or are no numbers of the weights' kind.
    """
    if rows.ndim != 2 or rows.shape[1] != columns:
        raise InputError(
            f"{name} has shape {tuple(rows.shape)}; it is a batch of rows with "
            f"{columns} {'number' if columns == 1 else 'numbers'}, one for each {each}"
        )
    _check_kind(owner, name, rows, "real numbers")
    return rows


def checked_noise(owner: Objective, draws: Draws, mean: Tensor) -> Tensor:
    """The noise of draws, if there is as much as there are latents to be sampled.

    Args:
        owner: The method that draws.
        draws: What was given.
        mean: Means of what is sampled.

    Raises:
        InputError: There is none, or it has another shape.
    """
    noise = draws.get("noise")
    if noise is None or noise.shape != mean.shape:
        found = "no noise" if noise is None else f"noise of shape {tuple(noise.shape)}"
        raise InputError(
            f"draws has {found}, and {tuple(mean.shape)} is asked for; pass what "
            f"{type(owner).__name__}.draw({len(mean)}, stream) returns"
        )
    return noise


def check_as_many(rows: Mapping[str, Tensor]) -> None:
    """Refuses tensors that do not all have as many rows.

    Args:
        rows: The tensors by their names.

    Raises:
        InputError: One has more than another.
    """
    counts = {name: len(one) for name, one in rows.items()}
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise InputError(f"there must be as many rows of each: {found}")


def check_named(name: str, symbol: Tensor) -> None:
    """Refuses descriptions that neither name an attribute nor leave it open.

    Args:
        name: The argument's name.
        symbol: Which attributes are named.

    Raises:
        InputError: A number is neither 0 nor 1.
    """
    wrong = symbol[(symbol != 0) & (symbol != 1)]
    if len(wrong):
        raise InputError(
            f"{name} holds {float(wrong[0]):g}; an attribute is named by 1 and left open by 0"
        )


def check_numbers(name: str, numbers: Tensor, of: Sequence[str]) -> None:
    """Refuses numbers that stand for nothing.

    Args:
        name: The argument's name.
        numbers: What was given, one a row.
        of: What the numbers from 0 on stand for.

    Raises:
        InputError: They are no whole numbers, no row of them, or one is out of range.
    """
    if numbers.ndim != 1 or not _is_whole(numbers):
        raise InputError(
            f"{name} is {numbers.dtype} of shape {tuple(numbers.shape)}; it has one whole number "
            "an image"
        )
    wrong = numbers[(numbers < 0) | (numbers >= len(of))]
    if len(wrong):
        raise InputError(
            f"{name} holds {int(wrong[0])}; it runs from 0 to {len(of) - 1}: {listed(of)}"
        )


def check_positions(factors: Tensor, names: Sequence[str], sizes: Sequence[int]) -> None:
    """Refuses positions that no image has.

    Args:
        factors: What was given.
        names: Names of the factors.
        sizes: Number of values of each.

    Raises:
        InputError: They are no whole numbers, of another shape, or one is out of range.
    """
    if factors.ndim != 2 or factors.shape[1] != len(sizes) or not _is_whole(factors):
        raise InputError(
            f"factors is {factors.dtype} of shape {tuple(factors.shape)}; it has one row an image "
            f"and one whole number for each of {listed(names)}"
        )
    outside = (factors < 0) | (factors >= torch.tensor(sizes, device=factors.device))
    if outside.any():
        first = int(outside.any(0).nonzero()[0])
        raise InputError(
            f"factors holds {int(factors[outside[:, first], first][0])} for {names[first]}, whose "
            f"value numbers run from 0 to {sizes[first] - 1}"
        )


def listed(names: Sequence[str]) -> str:
    """Names for a message, the last of many only counted.

    Args:
        names: The names.
    """
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _is_whole(numbers: Tensor) -> bool:
    return not (numbers.is_floating_point() or numbers.is_complex() or numbers.dtype == torch.bool)


def _check_kind(owner: Objective, name: str, given: Tensor, allowed: str) -> None:
    if given.dtype == owner.dtype or torch.is_autocast_enabled(given.device.type):
        return
    # a module around the method may have changed its weights without telling it
    kind = next((one.dtype for one in owner.parameters()), owner.dtype)
    if given.dtype != kind:
        # not for whole numbers, which such a change would leave at 0 to 255
        advice = f": pass {name}.to({kind})" if given.is_floating_point() else ""
        raise InputError(
            f"{name} is {given.dtype}; it holds {allowed} as {kind}, like the weights{advice}"
        )
