"""Recognition of factors that were measured."""

import warnings
from typing import Final

MANY: Final = 20
"""Numbers of which there are more than this, and more than half as many as images, are measured."""


class ContinuousFactorWarning(UserWarning):
    """A factor was taken as continuous since it has nearly as many numbers as images."""


def are_measured(numbers: int, images: int) -> bool:
    """Whether there are so many numbers that they must be measurements: a continuous factor.

    Args:
        numbers: How many different ones there are.
        images: How many images they describe.
    """
    return numbers > MANY and 2 * numbers > images


def warn_of_measured(name: str, numbers: int, images: int, other: str = "ordinal") -> None:
    """Says that a factor is taken as continuous, and how to choose another kind.

    Args:
        name: The factor.
        numbers: How many different ones there are.
        images: How many images they describe.
        other: A kind that the message proposes.

    Warns:
        ContinuousFactorWarning: Always.
    """
    warnings.warn(
        f"{name} is continuous: it has {numbers} different numbers in {images} images; if each is "
        f"a value of its own, name another kind in kinds, such as {name}: {other}",
        ContinuousFactorWarning,
        stacklevel=2,
    )
