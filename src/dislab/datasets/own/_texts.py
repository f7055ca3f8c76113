"""Texts in the place of factor values: words for a missing value, and numbers in disguise."""

import re
from collections.abc import Sequence
from typing import Final

from dislab.factors import Kind

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


def are_numbers(texts: Sequence[str]) -> bool:
    """Whether all texts are numbers, also with a decimal comma, a unit or a percent sign."""
    return all(is_number(text) or _NUMBER.fullmatch(text.strip()) for text in texts)


def are_dates(texts: Sequence[str]) -> bool:
    """Whether all texts are dates of digits, such as 2021-03-31."""
    return all(_DATE.fullmatch(text.strip()) for text in texts)


def _is_missing(value: object) -> bool:
    if isinstance(value, str):
        text = value.strip()
        return text == _NONE or text.lower() in _ALWAYS or text.lower() in _WORDS
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    return bool(value != value)  # NaN
