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


def warn_of_measured(name: str, numbers: int, images: int, how: str) -> None:
    """Says that a factor is taken as continuous, and how to choose another kind.

    Args:
        name: The factor.
        numbers: How many different ones there are.
        images: How many images they describe.
        how: The setting that names another kind.

    Warns:
        ContinuousFactorWarning: Always.
    """
    warnings.warn(
        f"{name} is continuous: it has {numbers} different numbers in {images} images; {how} "
        "makes each number a value of its own",
        ContinuousFactorWarning,
        stacklevel=2,
    )
