"""Mean, spread and interval of scores over seeds, and shares of their variance."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from jaxtyping import Float, Int

from dislab.functional.checks import check_count
from dislab.study.stages.score import LEVELS
from dislab.study.statistics._frames import (
    AGREEMENT,
    SEED,
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

Ranges: TypeAlias = Mapping[str, tuple[float | None, float | None]]
"""Least and largest possible value of scores by name; None for an end that a score lacks."""

_CHANCE: Final = (
    "method_by_chance",
    "setting_by_chance",
    "method_chance_high",
    "setting_chance_high",
)


def summary(
    table: pd.DataFrame,
    scores: Columns = None,
    by: Columns = None,
    confidence: float = 0.95,
    ranges: Ranges = MappingProxyType({}),
) -> pd.DataFrame:
    """Mean, standard deviation and interval of each score in each group of runs.

    One row for each group and score, with the columns of `by` and

    * `score`: name of the score;
    * `mean`, `sd`: mean and standard deviation (dividing by runs − 1) over the group's runs;
    * `low`, `high`: Student's interval of the mean over seeds, where several runs of one seed count
      as their mean, as in `comparisons`; it is cut at the ends of the score's range: as no mean
      lies beyond them, this leaves the coverage as it is;
    * `runs`, `seeds`: number of runs with a finite score, and of different seeds among them;
    * `missing`: number of runs whose score is missing or not finite; they are left out;
    * `chance`, `untrained`: mean level of the score over the group's runs, from the columns
      `<score>/chance` and `<score>/untrained`; NaN for results without one, and left out if none
      has one.

    By default a group is one setting, so that its runs differ only in the seed. The interval is
    NaN for fewer than three seeds; the deviation for fewer than two runs, of an agreement than
    three. A table without the column `seed` counts every run as a seed of its own.
    docs/statistics.md reports its measured coverage.

    Args:
        table: One row per run.
        scores: Names of the columns to describe; `None` for every result.
        by: Names of the columns whose values define the groups; `None` for every setting but the
            seed, an empty list for all runs together.
        confidence: Share of studies whose interval holds the mean, if scores are normal.
        ranges: Least and largest possible value of scores, such as `{"score.mig": (0, 1)}`.

    Raises:
        InputError: The table is empty or lacks a column, a score is no number, or a setting is
            out of bounds.
    """
    check_share("confidence", confidence)
    columns, keys = chosen_results(table, scores), chosen_settings(table, by, "by")
    levels = {
        level: {name: f"{name}/{level}" for name in columns if f"{name}/{level}" in table}
        for level in LEVELS
    }
    rows = []
    for key, group in groups(table, keys):
        values = numbers(group, columns)
        means = {level: numbers(group, [*of.values()]).mean() for level, of in levels.items() if of}
        for name in columns:
            finite = values[name].dropna()
            ends = interval(_by_seed(group, values[name]), confidence)
            least, most = ranges.get(name, (None, None))
            low, high = (
                float(np.clip(end, -np.inf if least is None else least, most)) for end in ends
            )
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
            for level, mean in means.items():
                rows[-1][level] = mean.get(levels[level].get(name), np.nan)
    return pd.DataFrame(rows)


def _by_seed(group: pd.DataFrame, scores: pd.Series) -> npt.NDArray[np.float64]:
    """The mean score of each seed: runs of one seed are not independent."""
    seeds = group[SEED].to_numpy() if SEED in group else np.arange(len(group))
    means: pd.Series = scores.groupby(seeds, sort=False).mean()
    return means.dropna().to_numpy(dtype=float)


def variance_shares(
    table: pd.DataFrame,
    method: str | Sequence[str],
    scores: Columns = None,
    settings: Columns = None,
    draws: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Share of each score's variance over runs that method, setting and seed explain.

    One row for each score:

    * `method`: R² of the linear regression of the score on the method alone, one-hot: the share
      that remains within methods is 1 − R²;
    * `setting`: increase of R² with one column for each combination of method and settings;
    * `seed`: 1 − R² of that second regression: differences between runs of one setting;
    * `method_by_chance`, `setting_by_chance`: mean share of shuffled scores: over all runs for the
      method, within each method for the setting; `method_chance_high` and `setting_chance_high`
      are the quantiles of these shares that `confidence` names;
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
        draws: Number of times that the scores are shuffled.
        seed: Seed of the shuffles.
        confidence: Share of the shuffles that stay below `method_chance_high` and
            `setting_chance_high`, for each score alone; 1 − 0.05 / n allows for n scores.

    Raises:
        InputError: The table is empty or lacks a column, a score is no number, or a setting is out
            of bounds.
    """
    check_share("confidence", confidence)
    check_count("draws", draws, 99)
    methods = named_columns(table, method, "method")
    columns = chosen_results(table, scores)
    within = chosen_settings(table, settings, "settings")
    values = numbers(table, columns)
    kinds = _cells(table, methods)
    cells = _cells(table, [*methods, *(name for name in within if name not in methods)])
    generator = np.random.default_rng(seed)
    rows = [
        {
            "score": name,
            **_shares(values[name].dropna(), kinds, cells, draws, confidence, generator),
        }
        for name in columns
    ]
    return pd.DataFrame(rows)


def _cells(table: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """Group number of each run: equal for runs with the same values in the columns."""
    return keyed(table, columns).groupby(list(columns), sort=False, dropna=False).ngroup()


def _shares(
    score: pd.Series,
    kinds: pd.Series,
    cells: pd.Series,
    draws: int,
    confidence: float,
    generator: np.random.Generator,
) -> dict[str, float | int | str]:
    """The row of one score."""
    runs, kinds, cells = len(score), kinds[score.index], cells[score.index]
    names = ("method", "setting", "seed", *_CHANCE)
    unknown = dict.fromkeys(names, math.nan)
    if runs < 2 or score.min() == score.max():
        return {**unknown, "runs": runs, "note": "the score does not vary"}
    if cells.nunique() == runs:
        return {**unknown, "runs": runs, "note": "no setting has two seeds"}
    centred = (score - score.mean()).to_numpy()
    methods, settings = (pd.factorize(column)[0] for column in (kinds, cells))
    by_method, by_cell = (_explained(centred, group) for group in (methods, settings))
    return {
        "method": by_method,
        "setting": by_cell - by_method,
        "seed": 1 - by_cell,
        **_by_chance(centred, methods, settings, draws, confidence, generator),
        "runs": runs,
        "note": "",
    }


def _explained(centred: Float[np.ndarray, " run"], group: Int[np.ndarray, " run"]) -> float:
    """R² of the regression on one column per group, whose predictions are the group means."""
    sums = np.bincount(group, centred)
    return float((sums**2 / np.bincount(group)).sum() / (centred**2).sum())


def _by_chance(
    centred: Float[np.ndarray, " run"],
    kinds: Int[np.ndarray, " run"],
    cells: Int[np.ndarray, " run"],
    draws: int,
    confidence: float,
    generator: np.random.Generator,
) -> dict[str, float]:
    """Means and quantiles of the shares of shuffled scores, for method and setting."""
    order = np.argsort(kinds, kind="stable")
    centred, kinds, cells = centred[order], kinds[order], cells[order]
    by_method, shares = _explained(centred, kinds), []
    for _ in range(draws):
        noise = generator.random(len(centred))
        within = centred[np.lexsort((noise, kinds))]  # each method keeps its runs
        shuffled = centred[np.argsort(noise)]
        shares.append([_explained(shuffled, kinds), _explained(within, cells) - by_method])
    numbers = [*np.mean(shares, axis=0), *np.quantile(shares, confidence, axis=0)]
    return dict(zip(_CHANCE, map(float, numbers), strict=True))
