"""Recognition of measured (continuous) factors."""

import warnings
from collections.abc import Mapping
from typing import Final

MANY: Final = 20
"""A factor with more distinct values than this, and than half the number of images, is measured."""

NAMES_SHOWN: Final = 8
"""Largest number of factors named in a message; the rest are counted."""


class FactorWarning(UserWarning):
    """Values that were brought as factors may be something else."""


class ContinuousFactorWarning(FactorWarning):
    """A factor was treated as continuous: it has nearly as many distinct values as images."""


def column_names(table: object) -> list[str] | None:
    """Names of the columns of a table, or of a single column, of pandas, polars or Arrow.

    None for arrays, which have no names.

    Args:
        table: A table, a column, or an array.
    """
    names = getattr(table, "column_names", None)  # of Arrow, whose `columns` are the values
    names = getattr(table, "columns", None) if names is None else names
    if names is None and (name := getattr(table, "name", None)) is not None:
        names = [name]
    return None if names is None else [str(name) for name in names]


def are_measured(numbers: int, images: int) -> bool:
    """Whether a factor has so many distinct values that they must be measurements."""
    return numbers > MANY and 2 * numbers > images


def warn_of_measured(counts: Mapping[str, int], images: int, alternative: str = "ordinal") -> None:
    """Warns about factors that are treated as continuous, and names the setting to change.

    `counts` maps factors to their number of distinct values; if it is empty, there is no warning.
    `alternative` is the alternative kind for the first factor.

    Warns:
        ContinuousFactorWarning: `counts` has such a factor.
    """
    if not counts:
        return
    warnings.warn(
        f"{counted(counts, 'continuous', 'numbers')} in {images} images; if each is a value of its "
        f"own, name another kind in kinds, such as {next(iter(counts))}: {alternative}",
        ContinuousFactorWarning,
        stacklevel=2,
    )


def counted(counts: Mapping[str, int], kind: str, what: str) -> str:
    """The start of a message: kind and number of distinct values of some factors."""
    names = list(counts)[:NAMES_SHOWN]
    more = f" and {len(counts) - NAMES_SHOWN} more" if len(counts) > NAMES_SHOWN else ""
    verb, pronoun = ("is", "it has") if len(counts) == 1 else ("are", "they have")
    numbers = ", ".join(dict.fromkeys(str(counts[name]) for name in names))
    return f"{', '.join(names)}{more} {verb} {kind}: {pronoun} {numbers} different {what}"
