"""Checks of constructor arguments, with messages that name the allowed values.

Most take the name of the argument, for the message, and its value.
"""

import math
import reprlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, Final, ParamSpec, TypeVar

from dislab.errors import InputError, suggestion
from dislab.naming.settings import is_number

P = ParamSpec("P")
R = TypeVar("R")

MOST: Final = 10**9
"""Default upper limit of settings that are counts."""

MOST_LATENTS: Final = 2**16
"""Largest number of latents, codes or noise variables of a model."""


@contextmanager
def naming(setting: str) -> Iterator[None]:
    """Prefix the message of an InputError raised in the block with the name of a setting.

    Raises:
        InputError: The block refused the value.
    """
    try:
        yield
    except InputError as error:
        raise InputError(f"{setting}: {error}") from error


def check_count(name: str, value: Any, least: int, most: int = MOST) -> None:
    """Refuses a value that is not a whole number within bounds.

    Raises:
        InputError: The value is not a whole number, too small or too large.
    """
    if not is_number(value, Integral) or value < least:
        allowed = f"a whole number of at least {least}"
    elif value > most:
        allowed = f"at most {most:,}"
    else:
        return
    raise InputError(f"{name} is {reprlib.repr(value)}; it must be {allowed}")


def check_at_least(name: str, value: Any, least: int | float) -> None:
    """Refuses a value that is not a finite number of at least a bound.

    Raises:
        InputError: The value is no number, or too small, infinite or NaN.
    """
    if not (is_number(value, Real) and least <= value < math.inf):
        raise InputError(f"{name} is {value!r}; it must be a finite number of at least {least}")


def check_above(name: str, value: Any, bound: int | float) -> None:
    """Refuses a value that is not a finite number above a bound.

    Raises:
        InputError: The value is no number, or too small, infinite or NaN.
    """
    if not (is_number(value, Real) and bound < value < math.inf):
        raise InputError(f"{name} is {value!r}; it must be a finite number above {bound}")


def check_betas(betas: tuple[float, float]) -> None:
    """Refuses invalid Adam coefficients, which torch does not check in parameter groups.

    Args:
        betas: Coefficients of the running means of the gradients and of their squares.

    Raises:
        InputError: One is negative, 1 or more, or NaN.
    """
    for value in betas:
        if not 0 <= value < 1:
            raise InputError(
                f"betas has {value}; each of Adam's coefficients is at least 0 and less than 1"
            )


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuses a value that is not among the allowed words.

    Raises:
        InputError: The value is not allowed.
    """
    if value not in allowed:
        hint = suggestion(str(value), allowed)
        raise InputError(f"{name} is {value!r}{hint}; choose one of {', '.join(allowed)}")


def check_halvings(image_shape: tuple[int, int, int], times: int, name: str) -> None:
    """Refuses images whose sides cannot be halved several times.

    Args:
        image_shape: Channels, height and width.
        times: Number of halvings.
        name: The network that halves them, for messages.

    Raises:
        InputError: The sides cannot be halved that often.
    """
    _, height, width = image_shape
    if not times or height % 2**times or width % 2**times:
        raise InputError(
            f"{name} halves the sides of an image {times} times, which {height}×{width} pixels do "
            "not allow; change channels, which has one number per halving"
        )


def check_sides(image_shape: tuple[int, int, int], side: int, name: str, alternative: str) -> None:
    """Refuses images of another size than a network expects.

    Args:
        image_shape: Channels, height and width.
        side: Height and width that the network expects.
        name: The network, for messages.
        alternative: A network for images of any size.

    Raises:
        InputError: The images have another size.
    """
    _, height, width = image_shape
    if (height, width) != (side, side):
        raise InputError(
            f"{name} is for {side}×{side} images, not {height}×{width}; set resize: {side} of the "
            f"data module, or side: {side} of a data set that has it, or use {alternative}, for "
            "any size"
        )
