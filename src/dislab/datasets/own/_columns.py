"""Factors from columns of values, for any set of combinations; texts in the place of values."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from dislab.datasets.bank.labels import INSTANCE, instance_factor, occurrences
from dislab.errors import InputError, suggestion, warn
from dislab.factors import (
    MISSING,
    UNLABELLED,
    Factor,
    FactorSpace,
    FactorWarning,
    Indices,
    Kind,
    are_measured,
    counted,
    may_be_angle,
    warn_of_measured,
)

Column = Sequence[float] | Sequence[str]
Gapped = Sequence[float | None] | Sequence[str | None]
"""Values of a factor, one per image; None where an image has no value."""

SHOWN: Final = 5
"""Maximum number of rows or files listed in a message; the rest is counted."""


_IDENTIFIER: Final = re.compile(r"(.*[\W_])?(id|idx|index|number|no|nr)", re.IGNORECASE)
"""Matches names of columns that may be running numbers."""

Gaps = Literal["refuse", "keep"]
"""Whether images without a value of a factor are refused or kept."""


class Labels(NamedTuple):
    """The factors of a set of images.

    Attributes:
        space: The factors; with a table of the existing combinations, unless all exist.
        order: Number of the given image that belongs to each state.
    """

    space: FactorSpace
    order: Indices


class Traits(NamedTuple):
    """Optional properties of factors, by name of the factor.

    Attributes:
        kinds: Kinds of factors, such as ordinal.
        units: Units of numeric values.
        periods: Periods of circular factors.
    """

    kinds: Mapping[str, Kind]
    units: Mapping[str, str]
    periods: Mapping[str, float]


def with_class_names(
    columns: Mapping[str, Gapped],
    traits: Traits,
    classes: Mapping[str, Sequence[str] | None],
) -> tuple[dict[str, Gapped], Traits]:
    """Columns and traits with the names of classes, by factor, in place of their numbers."""
    class_columns: dict[str, Gapped] = {}
    for name, column in columns.items():
        if names := classes.get(name):
            class_columns[name] = [None if index is None else names[int(index)] for index in column]
    kinds: dict[str, Kind] = dict.fromkeys(class_columns, "categorical")
    return {**columns, **class_columns}, traits._replace(kinds={**kinds, **traits.kinds})


def labelled(columns: Mapping[str, Gapped], traits: Traits) -> Labels:
    """Factors of images, and the order of the images as states.

    Numbers are ordinal, circular if they have a period, or continuous if there are nearly as many
    different values as images (with a `ContinuousFactorWarning`); names are categorical (with a
    `FactorWarning` if they are rather numbers, dates or names of single images). States are sorted,
    the last factor varying fastest. If several images have equal values, an additional last factor
    `instance` numbers them in order. An image without a value has no value number there. Rejects
    traits that contradict the values, non-finite numbers, a column without any value, and a column
    `instance` in combination with repeated values.
    """
    for setting, names in traits._asdict().items():
        for name in names:
            _check_known(name, setting, columns)
    factors, positions, measured, images = [], [], {}, {}
    for name, column in columns.items():
        present = [value for value in column if value is not None]
        if not present:
            raise InputError(f"no image has a value of {name}; leave that column out")
        values, ranks = np.unique(np.asarray(present), return_inverse=True)
        numbers = np.full(len(column), MISSING, dtype=np.int64)
        numbers[[value is not None for value in column]] = ranks.reshape(-1)
        images[name] = len(present)
        kind = traits.kinds.get(name)
        if kind is None and _measured(values, len(present)):
            measured[name], kind = len(values), "continuous"
        factors.append(_factor(name, values, traits, kind))
        positions.append(numbers)
    warn_of_measured(measured, images, traits.periods)
    _warn_of_texts([factor for factor in factors if factor.name not in traits.kinds], images)
    table = np.stack(positions, axis=1).astype(np.int64)
    order = np.lexsort(table.T[::-1])
    table = table[order]
    instance = occurrences(table)
    if instance.any():
        if INSTANCE in columns:
            raise InputError(
                f"images share the values of all factors, and {INSTANCE} is a factor already; "
                "number the images in it, or leave it out"
            )
        factors.append(instance_factor(instance))
        table = np.column_stack((table, instance))
    complete = (table != MISSING).all() and len(table) == np.prod(
        [len(factor) for factor in factors], dtype=np.float64
    )
    return Labels(FactorSpace(tuple(factors), None if complete else table), order)


def unlabelled(count: int) -> FactorSpace:
    """The single factor of images without labels: the image number."""
    numbers = tuple(map(float, range(count)))
    return FactorSpace((Factor(UNLABELLED, numbers, "categorical", nuisance=True),))


def listing(names: Sequence[str]) -> str:
    """The first few names of a list, and the number of further ones."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def warn_left_out(source: str, names: Iterable[object]) -> None:
    """Warns about columns or parts of items that are not used as factors, being no labels."""
    if listed := ", ".join(map(str, names)):
        warn(
            f"the factors do not include {listed} of {source}; to use them, list them in factors",
            FactorWarning,
        )


def _warn_of_texts(factors: Iterable[Factor], images: Mapping[str, int]) -> None:
    """Warns about factors of texts that are rather numbers, dates or names of single images.

    `images` are the numbers of images with a value, by factor.
    """
    examples: dict[str, dict[str, str]] = {}
    counts: dict[str, int] = {}
    for factor in factors:
        texts = [value for value in factor.values if isinstance(value, str)]
        if remedy := _remedy(texts, images[factor.name]):
            examples.setdefault(remedy, {})[factor.name] = texts[-1]
            counts[factor.name] = len(texts)
    for remedy, names in examples.items():
        first, text = next(iter(names.items()))
        few = {name: counts[name] for name in names}
        summary = counted(few, images, "categorical", "texts")
        warn(
            f"{summary}, such as {text!r}; {remedy}; if each is a class, say so "
            f"in kinds, such as {first}: categorical",
            FactorWarning,
        )


_LEAVE_OUT: Final = "leave out a column that only names images by listing the others in factors"


def _remedy(texts: Sequence[str], images: int) -> str | None:
    """Advice on texts that are hardly classes; None for others."""
    if texts and all(is_number(text) or _NUMBER.fullmatch(text.strip()) for text in texts):
        return "if they are numbers, write them so, with a point and without a unit: 0.5 for '0,5'"
    if not are_measured(len(texts), images):
        return None
    if all(_DATE.fullmatch(text.strip()) for text in texts):
        return "write dates as numbers, such as days since the first one"
    return _LEAVE_OUT


def identifiers(space: FactorSpace, order: Indices) -> dict[str, str]:
    """The factors that only tell images apart, with `names` or `numbers`, as they do so.

    Numbers do if they are integers and all different, and count the images in their order, or have
    a name such as `id`.

    Args:
        space: The factors.
        order: The states in the order of the images.
    """
    found = {}
    for name, positions in zip(space.names, space.positions(order).T, strict=True):
        factor, positions = space[name], positions[positions != MISSING]
        texts = [text for text in factor.values if isinstance(text, str)]
        if _remedy(texts, len(positions)) == _LEAVE_OUT:
            found[name] = "names"
        elif not texts and name != INSTANCE and _numbers_images(name, factor.numbers[positions]):
            found[name] = "numbers"
    return found


def _numbers_images(name: str, numbers: npt.NDArray[np.float64]) -> bool:
    """Whether numbers of images, in the order of these, are identifiers."""
    count = len(np.unique(numbers))
    if count < len(numbers) or not are_measured(count, count) or (numbers % 1).any():
        return False
    counts = (np.diff(numbers) > 0).all() and np.ptp(numbers) < 2 * count
    return _IDENTIFIER.fullmatch(name) is not None or (bool(counts) and not may_be_angle(name))


def _check_known(name: str, setting: str, columns: Mapping[str, Gapped]) -> None:
    if name not in columns:
        hint = suggestion(name, columns)
        raise InputError(
            f"{setting} names {name!r}{hint}, which is no factor; they are {', '.join(columns)}"
        )


def _measured(values: npt.NDArray[Any], images: int) -> bool:
    """Whether values are finite numbers, and so many different ones that they are measurements."""
    numeric = values.dtype.kind != "U" and bool(np.isfinite(values).all())
    return numeric and are_measured(len(values), images)


def _usual(period: float | None) -> Kind:
    """Default kind of a column of numbers."""
    return "ordinal" if period is None else "circular"


def _factor(name: str, values: npt.NDArray[Any], traits: Traits, kind: Kind | None) -> Factor:
    unit, period = traits.units.get(name, ""), traits.periods.get(name)
    if values.dtype.kind == "U":
        return Factor(name, tuple(values.tolist()), kind or "categorical", unit, period)
    numbers = tuple(values.astype(np.float64).tolist())
    return Factor(name, numbers, kind or _usual(period), unit, period)


_ALWAYS: Final = frozenset(("", "nan", "na"))
"""Words, in lower case, that never are names."""
_WORDS: Final = frozenset(
    (
        *("n/a", "<na>", "nat", "null", "(null)", "-nan", "#n/a", "#n/a n/a", "#na", r"\n"),
        *("#value!", "#ref!", "#div/0!", "#num!", "#name?", "#null!"),  # Excel
        *("1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"),  # C on Windows
    )
)
"""Further words for a missing value, in lower case: those of pandas, Excel, SQL and BIDS."""
_NONE: Final = "None"
"""Python's word; in lower case it is a common name, such as of "no hat"."""
_UNITS: Final = r"(%|‰|°\s?[CFK]?|deg|rad|px|[µmck]?m|m?s|k?g|[$€£])"
_NUMBER: Final = re.compile(
    rf"[+−-]?\s?(\d{{1,3}}([.,'’\s]\d{{3}})+([.,]\d+)?|\d+([.,]\d*)?|[.,]\d+)\s?{_UNITS}?"
)
_DATE: Final = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([T\s].*)?")
_MISSING_TYPES: Final = ("NAType", "NaTType")
"""Types of pandas for a missing value; NA cannot be compared."""


def missing(values: Sequence[object], kind: Kind | None) -> list[int]:
    """Rows of a column that have no value.

    If `kind` says categorical, words such as `None` are names in a column that has other names.
    """
    rows = [row for row, value in enumerate(values) if _is_missing(value)]
    if kind == "categorical" and any(
        isinstance(value, str) and not _is_missing(value) and not is_number(value)
        for value in values
    ):
        return [row for row in rows if not is_word(values[row])]
    return rows


def name_hint(column: str, values: Sequence[object], kind: Kind | None) -> str:
    """The end of a message on missing values: how to keep a word such as `None` as a name."""
    word = next((value for value in values if is_word(value)), None)
    if word is None or kind is not None:
        return ""
    return f", or set kinds: {{{column}: categorical}} if {word!r} is a name"


def is_word(value: object) -> bool:
    """Whether a missing value is a word that may be a name elsewhere."""
    return isinstance(value, str) and value.strip().lower() not in _ALWAYS


def is_number(text: str) -> bool:
    """Whether a text is a plain number, as Python writes it."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_missing(value: object) -> bool:
    if isinstance(value, str):
        text = value.strip()
        return text == _NONE or text.lower() in _ALWAYS or text.lower() in _WORDS
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    return bool(value != value)  # NaN
