"""Columns and groups of a table of runs."""

import json
import math
from collections.abc import Hashable, Iterator, Sequence
from numbers import Real
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from dislab.errors import InputError, suggestion
from dislab.naming.settings import is_number
from dislab.plugins import STAGES, declared
from dislab.study.stages.score import SUFFIXES

Columns: TypeAlias = str | Sequence[str] | None
"""One or more column names; `None` for the default choice of a function."""

AGREEMENT: Final = "agreement."
"""Prefix of the columns of `Study.agreement`."""
LABELLED: Final = "labelled."
"""Prefix of the columns of `Study.few_labels`."""
ALL: Final = "all"
"""The name of the group of all runs."""
SEED: Final = "seed"
_STATE: Final = "state"


def _result_prefixes() -> tuple[str, ...]:
    """Prefixes of result columns: the installed stages, agreement, and scores on few labels."""
    return (*(f"{word}." for word in declared(STAGES)), AGREEMENT, LABELLED)


def result_columns(table: pd.DataFrame) -> list[str]:
    """Names of the columns that hold results, in the order of the table."""
    prefixes = _result_prefixes()
    return [name for name in table.columns if str(name).startswith(prefixes)]


def is_level(column: str) -> bool:
    """Whether a column holds a level of a score, such as that of chance, rather than a score."""
    return column.startswith("score.") and column.endswith(SUFFIXES)


def setting_columns(table: pd.DataFrame) -> list[str]:
    """Names of the columns that hold settings other than the seed, in the order of the table."""
    results = result_columns(table)
    return [name for name in table.columns if name not in (*results, SEED, _STATE)]


def chosen_results(table: pd.DataFrame, scores: Columns) -> list[str]:
    """The named results, or all numeric ones; rejects a table without any.

    Levels of scores, such as that of chance, count as results only if they are named.
    """
    if scores is not None or table.empty:
        return named_columns(table, scores or [], "scores")
    results = [
        name
        for name in result_columns(table)
        if pd.api.types.is_numeric_dtype(table[name]) and not is_level(name)
    ]
    if not results:
        raise InputError(
            "the table has no column of numbers that starts with score. or the name of another "
            "stage of a study; name the columns of the scores"
        )
    return results


def chosen_settings(table: pd.DataFrame, by: Columns, setting: str) -> list[str]:
    """The named settings, or all of them."""
    return setting_columns(table) if by is None else named_columns(table, by, setting)


def named_columns(table: pd.DataFrame, names: str | Sequence[str], argument: str) -> list[str]:
    """Names of columns as a list; rejects a table without rows, and missing columns."""
    if table.empty:
        raise InputError("the table has no runs; finish at least one run of the study first")
    chosen = [names] if isinstance(names, str) else list(names)
    for name in chosen:
        if name not in table.columns:
            hint = suggestion(name, table.columns)
            raise InputError(
                f"{argument}: the table has no column {name!r}{hint}; "
                f"it has {', '.join(map(str, table.columns))}"
            )
    return chosen


def numbers(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The columns as floating-point numbers, with NaN for missing and non-finite results."""
    converted = {}
    for name in dict.fromkeys(columns):
        try:
            converted[name] = pd.to_numeric(table[name]).astype(float)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"column {name!r} does not hold numbers alone ({error}); name columns of scores"
            ) from error
    return pd.DataFrame(converted, index=table.index).replace([np.inf, -np.inf], np.nan)


def groups(table: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Each combination of values with its runs, in the order of the table.

    Lists and dictionaries are compared as JSON; a missing value counts as a value of its own.
    """
    if not by:
        yield {}, table
        return
    keys = keyed(table, by).reset_index(drop=True)
    for values, part in keys.groupby(list(by), sort=False, dropna=False):
        yield dict(zip(by, values, strict=True)), table.iloc[part.index]


def named_groups(table: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """All runs under the name `all`, then each group under a name such as `method=FactorVAE`."""
    yield ALL, table
    if by:
        for key, group in groups(table, by):
            yield ", ".join(f"{name}={value}" for name, value in key.items()), group


def keyed(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The columns, with lists and dictionaries as JSON, so that rows can be grouped by them."""
    return pd.DataFrame({name: table[name].map(_key) for name in columns}, index=table.index)


def _key(value: Any) -> Hashable:
    return value if isinstance(value, Hashable) else json.dumps(value, sort_keys=True, default=str)


def check_share(name: str, value: float) -> None:
    """Rejects a value outside the open interval from 0 to 1."""
    if not (is_number(value, Real) and 0 < value < 1):
        raise InputError(f"{name} is {value!r}; it must lie between 0 and 1, both excluded")


def seeds_of(table: pd.DataFrame, rows: npt.NDArray[np.bool_]) -> int:
    """Number of different seeds among some runs; the number of runs if there is no seed column."""
    return int(table[SEED][rows].nunique() if SEED in table else rows.sum())


def interval(values: npt.NDArray[np.float64], confidence: float) -> tuple[float, float]:
    """Ends of Student's interval of a mean; NaN with fewer than three values."""
    from scipy.stats import t

    count = len(values)
    if count < 3:
        return np.nan, np.nan
    half = t.ppf((1 + confidence) / 2, count - 1) * values.std(ddof=1) / math.sqrt(count)
    return float(values.mean() - half), float(values.mean() + half)
