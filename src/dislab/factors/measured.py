"""Recognition of factors that were measured."""

import warnings
from collections.abc import Mapping
from typing import Final

MANY: Final = 20
"""More different numbers than this, and than half the number of images, are measurements."""

NAMES_SHOWN: Final = 8
"""Factors that a message names before it only counts the rest."""


class ContinuousFactorWarning(UserWarning):
    """A factor was taken as continuous since it has nearly as many numbers as images."""


def are_measured(numbers: int, images: int) -> bool:
    """Whether a factor has so many different numbers that they must be measurements."""
    return numbers > MANY and 2 * numbers > images


def warn_of_measured(found: Mapping[str, int], images: int, other: str = "ordinal") -> None:
    """Warns of factors that are taken as continuous, and names the setting of another kind.

    `found` has the number of different numbers of each factor; no warning if empty. `other` is the
    kind that the first one has otherwise.

    Warns:
        ContinuousFactorWarning: `found` has such a factor.
    """
    if not found:
        return
    shown = list(found)[:NAMES_SHOWN]
    rest = f" and {len(found) - NAMES_SHOWN} more" if len(found) > NAMES_SHOWN else ""
    verb, pronoun = ("is", "it has") if len(found) == 1 else ("are", "they have")
    numbers = ", ".join(dict.fromkeys(str(found[name]) for name in shown))
    warnings.warn(
        f"{', '.join(shown)}{rest} {verb} continuous: {pronoun} {numbers} different numbers in "
        f"{images} images; if each is a value of its own, name another kind in kinds, such as "
        f"{shown[0]}: {other}",
        ContinuousFactorWarning,
        stacklevel=2,
    )
