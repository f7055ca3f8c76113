"""Checks of constructor arguments, with messages that say what is allowed."""

from dislab.errors import InputError


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
