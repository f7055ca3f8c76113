"""Checks of constructor arguments, with messages that say what is allowed."""

from collections.abc import Sequence

from dislab.errors import InputError, suggestion


def check_at_least(name: str, value: int | float, least: int | float) -> None:
    """Refuses a number below a bound, or one that is not finite.

    Args:
        name: The argument's name.
        value: What was given.
        least: The smallest allowed value.

    Raises:
        InputError: The number is too small, infinite or NaN.
    """
    if not least <= value < float("inf"):
        raise InputError(f"{name} is {value}; it must be a finite number of at least {least}")


def check_above(name: str, value: int | float, bound: int | float) -> None:
    """Refuses a number that is not above a bound, or one that is not finite.

    Args:
        name: The argument's name.
        value: What was given.
        bound: What the value must exceed.

    Raises:
        InputError: The number is too small, infinite or NaN.
    """
    if not bound < value < float("inf"):
        raise InputError(f"{name} is {value}; it must be a finite number above {bound}")


def check_betas(betas: tuple[float, float]) -> None:
    """Refuses coefficients that Adam does not take, which torch does not check in a group's own.

    Args:
        betas: Of the mean and of the mean square of the gradients.

    Raises:
        InputError: One is negative, 1 or more, or NaN.
    """
    for value in betas:
        if not 0 <= value < 1:
            raise InputError(
                f"betas has {value}; each of Adam's coefficients is at least 0 and less than 1"
            )


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuses a word that is none of those allowed.

    Args:
        name: The argument's name.
        value: What was given.
        allowed: The words.

    Raises:
        InputError: The word is another one.
    """
    if value not in allowed:
        hint = suggestion(str(value), allowed)
        raise InputError(f"{name} is {value!r}{hint}; choose one of {', '.join(allowed)}")


def check_halvings(image_shape: tuple[int, int, int], times: int, name: str) -> None:
    """Refuses images whose sides cannot be halved so often.

    Args:
        image_shape: Channels, height and width.
        times: How often.
        name: Who halves them.

    Raises:
        InputError: They cannot.
    """
    _, height, width = image_shape
    if not times or height % 2**times or width % 2**times:
        raise InputError(
            f"{name} halves the sides of an image {times} times, which {height}×{width} pixels do "
            "not allow; change channels, one number a halving"
        )
