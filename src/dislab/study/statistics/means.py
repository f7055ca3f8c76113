"""Mean, spread and interval of scores over seeds."""

import numpy as np
import pandas as pd

from dislab.functional.checks import check_count
from dislab.study.stages.score import CHANCE
from dislab.study.statistics._frames import (
    Columns,
    check_share,
    chosen_results,
    chosen_settings,
    groups,
    interval,
    numbers,
    seeds_of,
)


def summary(
    table: pd.DataFrame,
    scores: Columns = None,
    by: Columns = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Mean, standard deviation and interval of each score in each group of runs.

    One row for each group and score, with the columns of `by` and

    * `score`: name of the score;
    * `mean`, `sd`: mean and standard deviation (dividing by runs − 1) over the group's runs;
    * `low`, `high`: percentile bootstrap interval of the mean;
    * `runs`, `seeds`: number of runs with a finite score, and of different seeds among them;
    * `missing`: number of runs whose score is missing or not finite; they are left out;
    * `chance`: mean chance level of the score over the group's runs, from the column
      `<score>/chance`; NaN for results without one, and left out if none has one.

    By default a group is one setting, so that its runs differ only in the seed. Deviation and
    interval are NaN for fewer than two runs. With few seeds the interval is too narrow:
    docs/statistics.md reports its measured coverage.

    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13.

    Args:
        table: One row per run.
        scores: Names of the columns to describe; `None` for every result.
        by: Names of the columns whose values define the groups; `None` for every setting but the
            seed, an empty list for all runs together.
        confidence: Share of the resampled means that the interval holds.
        resamples: Number of bootstrap resamples.
        seed: Seed of the resamples.

    Raises:
        InputError: The table is empty or lacks a column, a score is no number, or a setting is
            out of bounds.
    """
    check_share("confidence", confidence)
    check_count("resamples", resamples, 1)
    columns, keys = chosen_results(table, scores), chosen_settings(table, by, "by")
    levels = {name: f"{name}{CHANCE}" for name in columns if f"{name}{CHANCE}" in table}
    rows = []
    for key, group in groups(table, keys):
        values = numbers(group, columns)
        chance = numbers(group, list(levels.values()))
        for name in columns:
            finite = values[name].dropna()
            generator = np.random.default_rng(seed)  # intervals do not depend on each other
            low, high = interval(finite.to_numpy(), confidence, resamples, generator)
            rows.append(
                {
                    **key,
                    "score": name,
                    "mean": finite.mean(),
                    "sd": finite.std(),
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
