"""Mean, spread and interval of scores over seeds, and shares of their variance."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from dislab.study.stages.score import CHANCE
from dislab.study.statistics._frames import (
    AGREEMENT,
    Columns,
    check_share,
    chosen_results,
    chosen_settings,
    groups,
    interval,
    keyed,
    named_columns,
    numbers,
    seeds_of,
)


def summary(
    table: pd.DataFrame,
    scores: Columns = None,
    by: Columns = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Mean, standard deviation and interval of each score in each group of runs.

    One row for each group and score, with the columns of `by` and

    * `score`: name of the score;
    * `mean`, `sd`: mean and standard deviation (dividing by runs − 1) over the group's runs;
    * `low`, `high`: Student's interval of the mean;
    * `runs`, `seeds`: number of runs with a finite score, and of different seeds among them;
    * `missing`: number of runs whose score is missing or not finite; they are left out;
    * `chance`: mean chance level of the score over the group's runs, from the column
      `<score>/chance`; NaN for results without one, and left out if none has one.

    By default a group is one setting, so that its runs differ only in the seed. The interval is
    NaN for fewer than three runs; the deviation for fewer than two, of an agreement than three.
    docs/statistics.md reports its measured coverage.

    Args:
        table: One row per run.
        scores: Names of the columns to describe; `None` for every result.
        by: Names of the columns whose values define the groups; `None` for every setting but the
            seed, an empty list for all runs together.
        confidence: Share of studies whose interval holds the mean, if scores are normal.

    Raises:
        InputError: The table is empty or lacks a column, a score is no number, or a setting is
            out of bounds.
    """
    check_share("confidence", confidence)
    columns, keys = chosen_results(table, scores), chosen_settings(table, by, "by")
    levels = {name: f"{name}{CHANCE}" for name in columns if f"{name}{CHANCE}" in table}
    rows = []
    for key, group in groups(table, keys):
        values = numbers(group, columns)
        chance = numbers(group, list(levels.values()))
        for name in columns:
            finite = values[name].dropna()
            low, high = interval(finite.to_numpy(), confidence)
            sd = finite.std()
            if name.startswith(AGREEMENT) and len(finite) < 3:
                sd = np.nan  # two runs have one agreement, with each other
            rows.append(
                {
                    **key,
                    "score": name,
                    "mean": finite.mean(),
                    "sd": sd,
                    "low": low,
                    "high": high,
                    "runs": len(finite),
                    "seeds": seeds_of(group, values[name].notna().to_numpy()),
                    "missing": len(group) - len(finite),
                }
            )
            if levels:
                rows[-1]["chance"] = chance[levels[name]].mean() if name in levels else np.nan
    return pd.DataFrame(rows)


def variance_shares(
    table: pd.DataFrame,
    method: str | Sequence[str],
    scores: Columns = None,
    settings: Columns = None,
) -> pd.DataFrame:
    """Share of each score's variance over runs that method, setting and seed explain.

    One row for each score:

    * `method`: R² of the linear regression of the score on the method alone, one-hot: the share
      that remains within methods is 1 − R²;
    * `setting`: increase of R² with one column for each combination of method and settings;
    * `seed`: 1 − R² of that second regression: differences between runs of one setting;
    * `method_by_chance`, `setting_by_chance`: expected shares of purely random scores,
      (methods − 1)/(runs − 1) and (settings − methods)/(runs − 1);
    * `runs`, `note`: number of runs with a finite score, and the reason for NaN.

    This is the nested analysis of variance, method first; the three shares sum to 1. Locatello et
    al. (2019), https://arxiv.org/abs/1811.12359, section 5.3, report R² of the
    objective alone, and of objective and regularization strength together.

    Args:
        table: One row per run.
        method: Name of the column of the method, or of several that define it together.
        scores: Names of the columns to explain; `None` for every result.
        settings: Names of the columns that define a setting within a method; `None` for every
            other setting but the seed.

    Raises:
        InputError: The table is empty or lacks a column, or a score is no number.
    """
    methods = named_columns(table, method, "method")
    columns = chosen_results(table, scores)
    within = chosen_settings(table, settings, "settings")
    values = numbers(table, columns)
    kinds = _cells(table, methods)
    cells = _cells(table, [*methods, *(name for name in within if name not in methods)])
    rows = [{"score": name, **_shares(values[name].dropna(), kinds, cells)} for name in columns]
    return pd.DataFrame(rows)


def _cells(table: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """Group number of each run: equal for runs with the same values in the columns."""
    return keyed(table, columns).groupby(list(columns), sort=False, dropna=False).ngroup()


def _shares(score: pd.Series, kinds: pd.Series, cells: pd.Series) -> dict[str, float | int | str]:
    """The row of one score."""
    runs, kinds, cells = len(score), kinds[score.index], cells[score.index]
    names = ("method", "setting", "seed", "method_by_chance", "setting_by_chance")
    unknown = dict.fromkeys(names, math.nan)
    if runs < 2 or score.min() == score.max():
        return {**unknown, "runs": runs, "note": "the score does not vary"}
    if cells.nunique() == runs:
        return {**unknown, "runs": runs, "note": "no setting has two seeds"}
    by_method, by_cell = (_explained(score, groups) for groups in (kinds, cells))
    return {
        "method": by_method,
        "setting": by_cell - by_method,
        "seed": 1 - by_cell,
        "method_by_chance": (kinds.nunique() - 1) / (runs - 1),
        "setting_by_chance": (cells.nunique() - kinds.nunique()) / (runs - 1),
        "runs": runs,
        "note": "",
    }


def _explained(score: pd.Series, groups: pd.Series) -> float:
    """R² of the regression on one column per group, whose predictions are the group means."""
    return float(score.groupby(groups).transform("mean").var(ddof=0) / score.var(ddof=0))
