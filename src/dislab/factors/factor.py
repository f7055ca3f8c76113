"""One factor of variation: its name, values, unit and kind; recognition of measured ones."""

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError, suggestion, warn

Kind = Literal["ordinal", "categorical", "circular", "continuous"]
PlainKind = Literal["ordinal", "categorical", "continuous"]
"""Structure of a factor's values: ordered, unordered, circular, or measured numbers that rarely
repeat."""

TOLERANCE: Final = 1e-6
"""Tolerance of comparisons with a factor's values, as a fraction of the factor's range."""

_VALUES_SHOWN: Final = 50
_ANGLE: Final = re.compile(
    r"angle|hue|azimuth|orientation|degree|rotation|heading|yaw|bearing|longitude", re.IGNORECASE
)
"""Matches names of factors that may be angles."""


@dataclass(frozen=True)
class Factor:
    """One factor of variation and the values it takes.

    Args:
        name: The published name.
        values: The values in their order: numbers in `unit`, or names if the kind is categorical.
            For a continuous factor, the distinct measured numbers.
        kind: Structure of the values.
        unit: Unit of numeric values, such as `rad`; empty for plain numbers.
        period: Period of a circular factor, in its unit; optional for a continuous factor.
        nuisance: Whether it only distinguishes images with equal other factors, or names the part
            of a collection that an image belongs to; scores ignore it.

    Raises:
        InputError: There are no values, a value is repeated, infinite or NaN, names are mixed with
            numbers or given for a factor that is not categorical, the kind does not exist,
            continuous numbers are too far apart to be subtracted, or a circular factor has no
            positive period.
    """

    name: str
    values: tuple[float, ...] | tuple[str, ...]
    kind: Kind = "ordinal"
    unit: str = ""
    period: float | None = None
    nuisance: bool = False

    def __post_init__(self) -> None:
        """Checks the values against the kind."""
        given: Any = self.values
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise InputError(
                f"factor {self.name} has the values {given!r}; give them in a tuple, such as "
                "(0, 1, 2)"
            )
        if not self.values:
            raise InputError(f"factor {self.name} has no values")
        if len(set(self.values)) < len(self.values):
            raise InputError(f"factor {self.name} repeats a value: {self.values}")
        if self.kind not in get_args(Kind):
            hint, kinds = suggestion(str(self.kind), get_args(Kind)), ", ".join(get_args(Kind))
            raise InputError(
                f"factor {self.name} is of no kind {self.kind!r}{hint}; there are {kinds}"
            )
        is_name = [isinstance(value, str) for value in self.values]
        if any(is_name) and not all(is_name):
            raise InputError(f"factor {self.name} mixes names and numbers: {self.values}")
        if not np.isfinite(self.numbers).all():
            raise InputError(f"factor {self.name} has a value that is infinite or no number")
        if self.kind != "categorical" and any(is_name):
            raise InputError(f"factor {self.name} has names for values, but is {self.kind}")
        if self.kind == "continuous" and math.isinf(
            float(self.numbers.max()) - float(self.numbers.min())
        ):
            raise InputError(f"factor {self.name} has numbers too far apart to be subtracted")
        if self.kind == "circular" and self.period is None:
            raise InputError(
                f"factor {self.name} is circular and needs a period: give it one, or another kind"
            )
        if self.period is not None and self.kind not in ("circular", "continuous"):
            raise InputError(
                f"factor {self.name} has the period {self.period:g} and is {self.kind}, and only "
                f"circular and continuous factors have periods: leave out its kind {self.kind}, or "
                "its period"
            )
        if self.period is not None and not 0 < self.period < math.inf:
            raise InputError(f"factor {self.name} has the period {self.period}; it must be above 0")

    def __len__(self) -> int:
        """Number of values."""
        return len(self.values)

    @cached_property
    def numbers(self) -> npt.NDArray[np.float64]:
        """The values as numbers; names become 0, 1, 2, …."""
        if isinstance(self.values[0], str):
            return np.arange(len(self), dtype=np.float64)
        return np.asarray(self.values, dtype=np.float64)

    @cached_property
    def places(self) -> npt.NDArray[np.float64]:
        """Position of each value between the first one, 0, and the last one, 1.

        Continuous factors are scaled by their values, all others by their value numbers.
        """
        numbers = self.numbers if self.kind == "continuous" else np.arange(len(self), dtype=float)
        span = numbers.max() - numbers.min()
        return np.asarray((numbers - numbers.min()) / (span if span > 0 else 1.0))

    def allowed(self, condition: object) -> npt.NDArray[np.bool_]:
        """Mask of the values that match a condition, shape (values,).

        Args:
            condition: A value, a list of values, or a range `{min: …, max: …}`.

        Raises:
            InputError: The condition names a value that the factor does not have, has another form,
                or matches nothing.
        """
        if isinstance(condition, Mapping):
            admitted = self._in_range(condition)
        else:
            single = isinstance(condition, str | int | float)
            values: object = [condition] if single else condition
            if not isinstance(values, Sequence):
                raise InputError(
                    f"factor {self.name}: {condition!r} is no condition; give a value, a list of "
                    "values or a range {min: …, max: …}"
                )
            admitted = np.zeros(len(self), dtype=np.bool_)
            for value in values:
                admitted |= self._equal_to(value)
        if not admitted.any():
            raise InputError(
                f"factor {self.name}: {condition!r} matches none of its values; {self.describe()}"
            )
        return admitted

    def describe(self) -> str:
        """One phrase that lists the values, for messages and tables."""
        if self.kind == "categorical":
            listing = ", ".join(
                value if isinstance(value, str) else f"{value:.6g}"
                for value in self.values[:_VALUES_SHOWN]
            )
            more = len(self) - _VALUES_SHOWN
            return f"they are {listing}" + (f" and {more} more" if more > 0 else "")
        unit = f" {self.unit}" if self.unit else ""
        if self.kind == "continuous":
            low, high = self.numbers.min(), self.numbers.max()
            return f"they are {len(self)} numbers from {low:.6g} to {high:.6g}{unit}"
        listing = ", ".join(f"{value:.6g}" for value in self.numbers)
        if len(self) > 8:
            ends = self.numbers
            listing = f"{ends[0]:.6g}, {ends[1]:.6g}, … {ends[-1]:.6g} ({len(self)} of them)"
        return f"they are {listing}{unit}"

    def _equal_to(self, value: object) -> npt.NDArray[np.bool_]:
        if isinstance(self.values[0], str):
            if isinstance(value, int | float) and not isinstance(value, bool):
                # configurations turn texts such as 010 and 1e5 into numbers, even in quotes
                same = [name for name in self.values if _parsed_number(str(name)) == value]
                value = same[0] if len(same) == 1 else value
            if value not in self.values:
                hint = suggestion(str(value), [str(name) for name in self.values])
                raise InputError(
                    f"factor {self.name} has no value {value!r}{hint}; {self.describe()}"
                )
            return np.asarray([name == value for name in self.values])
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"factor {self.name} has numbers for values, not {value!r}")
        match = np.abs(self.numbers - value) <= self._slack
        if not match.any() and self.kind == "continuous":
            raise InputError(
                f"factor {self.name} has no value {value!r}; {self.describe()}: give a range "
                "{min: …, max: …}"
            )
        if not match.any():
            raise InputError(f"factor {self.name} has no value {value!r}; {self.describe()}")
        return match

    def _in_range(self, bounds: Mapping[Any, Any]) -> npt.NDArray[np.bool_]:
        unknown = set(bounds) - {"min", "max"}
        if unknown or not bounds or self.kind == "categorical":
            raise InputError(
                f"factor {self.name}: {dict(bounds)!r} is no range; a range has min, max or both, "
                "and holds for numeric factors only"
            )
        for end in bounds.values():
            if isinstance(end, bool) or not isinstance(end, int | float):
                raise InputError(f"factor {self.name}: {end!r} is no number")
        low: float = bounds.get("min", -np.inf)
        high: float = bounds.get("max", np.inf)
        return (self.numbers >= low - self._slack) & (self.numbers <= high + self._slack)

    @property
    def _slack(self) -> float:
        return TOLERANCE * float(np.ptp(self.numbers))


def _parsed_number(text: str) -> float | None:
    """The number that a text spells, such as 1e5, 1_000 or 0x10."""
    with suppress(ValueError):
        return float(text)
    with suppress(ValueError, OverflowError):
        return float(int(text, 0))
    return None


MANY: Final = 20
"""A factor with more distinct values than this, and than half the number of images, is measured."""

NAMES_SHOWN: Final = 8
"""Largest number of factors named in a message; the rest are counted."""


class FactorWarning(UserWarning):
    """Values that were brought as factors may be something else."""


class GapWarning(FactorWarning):
    """A word such as `None` was taken for a missing value."""


class ContinuousFactorWarning(FactorWarning):
    """A factor was treated as continuous: it has nearly as many distinct values as images."""


def column_names(table: object) -> list[str] | None:
    """Names of the columns of a table, or of a single column, of pandas, polars or Arrow.

    None for arrays, which have no names.
    """
    names = getattr(table, "column_names", None)  # of Arrow, whose `columns` are the values
    names = getattr(table, "columns", None) if names is None else names
    if names is None and (name := getattr(table, "name", None)) is not None:
        names = [name]
    return None if names is None else [str(name) for name in names]


def may_be_angle(name: str) -> bool:
    """Whether the name of a factor is that of an angle."""
    return _ANGLE.search(name) is not None


def are_measured(numbers: int, images: int) -> bool:
    """Whether a factor has so many distinct values that they must be measurements."""
    return numbers > MANY and 2 * numbers > images


def warn_of_measured(
    counts: Mapping[str, int], images: Mapping[str, int], periods: Mapping[str, float]
) -> None:
    """Warns about factors that are treated as continuous, and names the setting to change.

    `counts` maps factors to their number of distinct values; if it is empty, there is no warning.
    `images` maps factors to the number of images that have a value, and `periods` has those of
    periodic factors. The example is no angle, whose kind would rather follow from a period.

    Warns:
        ContinuousFactorWarning: `counts` has such a factor.
    """
    if not counts:
        return
    example = next((name for name in counts if not may_be_angle(name)), None)
    usual = "circular" if example in periods else "ordinal"
    warn(
        f"{counted(counts, images, 'continuous', 'numbers')}; if each is a value of its own, name "
        "another kind in kinds"
        + (f", such as {example}: {usual}" if example else "")
        + "; leave out of factors what only numbers the images",
        ContinuousFactorWarning,
    )


def check_factor_names(
    names: Sequence[str], count: int, what: str = "factor", advice: str = "", distinct: bool = True
) -> None:
    """Refuses names that are not as many as the factors, or of which two are equal.

    Args:
        names: The names.
        count: Number of factors.
        what: What is named in place of factors.
        advice: Ends the message of a wrong number.
        distinct: Whether equal names are refused.

    Raises:
        InputError: As above.
    """
    if len(names) != count:
        given = "1 name" if len(names) == 1 else f"{len(names)} names"
        raise InputError(
            f"{given} for {count} {what}{'s' * (count != 1)}: {', '.join(names)}; give one for "
            f"each {what}{advice}"
        )
    for index, name in enumerate(names):
        if distinct and name in names[:index]:
            raise InputError(f"two {what}s are named {name!r}; give each {what} a different name")


def counted(counts: Mapping[str, int], images: Mapping[str, int], kind: str, what: str) -> str:
    """The start of a message: kind and number of distinct values of some factors, and of images."""
    names = list(counts)[:NAMES_SHOWN]
    more = f" and {len(counts) - NAMES_SHOWN} more" if len(counts) > NAMES_SHOWN else ""
    verb, pronoun = ("is", "it has") if len(counts) == 1 else ("are", "they have")
    numbers, of = (
        ", ".join(dict.fromkeys(str(each[name]) for name in names)) for each in (counts, images)
    )
    return (
        f"{', '.join(names)}{more} {verb} {kind}: {pronoun} {numbers} different {what} in {of} "
        "images"
    )
