"""Quality of models selected by other scores or at random."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Literal

import pandas as pd

from dislab.errors import InputError
from dislab.functional.checks import check_choice, check_count
from dislab.study.statistics._frames import (
    Columns,
    check_share,
    chosen_settings,
    named_columns,
    named_groups,
    numbers,
)
from dislab.study.statistics.correlations import LEAST, rank_correlations
from dislab.study.statistics.paired import holm

Best = Literal["highest", "lowest"]
"""Direction in which a score improves."""

RANDOM: Final = "random"
"""Name of the selector that chooses every run with equal probability."""
_CORRELATION: Final = ("rho", "low", "high", "p")
"""Columns of a rank correlation that a selection repeats."""


def model_selection(
    table: pd.DataFrame,
    target: str,
    selectors: Mapping[str, Best],
    best: Best = "highest",
    by: Columns = (),
    confidence: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
    correlations: pd.DataFrame | None = None,
    orders: int | None = None,
) -> pd.DataFrame:
    """Quality of the runs that each selector chooses, over all runs and within groups.

    One row for each group and selector, and one for `random`:

    * `group`: `all`, or the values of `by`;
    * `selector`: name of the score that selects, or `random`;
    * `rho`, `low`, `high`: Spearman's rank correlation of selector and target with its bootstrap
      interval, positive where the selector prefers the better runs; 0 for `random`, its exact
      expectation;
    * `p`, `p_holm`: two-sided permutation p value of `rho`, and with Holm's correction for all rows
      of this table; NaN for `random`;
    * `selected`: target of the run that the selector ranks best; averaged over ties for the best,
      and over all runs for `random`: both are exact expectations;
    * `best`: target of the best run;
    * `regret`: distance from `selected` to `best`, at least 0, in the target's unit;
    * `runs`, `note`: number of runs to select from, and runs or selectors that were left out.

    Only runs with the target and every selector are used, so that all selectors choose from the
    same runs. A selector without any value in the group, such as UDR with fewer than five seeds,
    gets NaN and does not reduce the runs of the others.

    Args:
        table: One row per run.
        target: Name of the column by which selected runs are judged.
        selectors: Columns that select a run, each with the value it prefers, such as
            `{"score.elbo": "highest", "score.reconstruction": "lowest"}`.
        best: Whether the highest or the lowest target is best.
        by: Names of the columns whose values define the groups; `None` for every setting.
        confidence: Share of the resampled correlations that the interval holds.
        draws: Number of bootstrap resamples.
        seed: Seed of the resamples.
        correlations: Result of `rank_correlations` for this table, these scores and `by`, which
            avoids drawing resamples again; groups in which a run lacks a score are recomputed.
        orders: Maximum number of permutations of a test; `None` for as many as `draws`.

    Raises:
        InputError: The table is empty or lacks a column, a score is no number, there is no
            selector, or a setting is out of bounds.
    """
    check_share("confidence", confidence)
    check_count("draws", draws, 99)
    if not selectors or target in selectors:
        raise InputError("selectors: name at least one column, other than the target")
    ends: dict[str, Best] = {target: best, **selectors}
    columns = named_columns(table, list(ends), "target and selectors")
    for name, end in ends.items():
        check_choice(name, end, ("highest", "lowest"))
    signs = pd.Series({name: 1.0 if end == "highest" else -1.0 for name, end in ends.items()})
    correlate = partial(
        rank_correlations, confidence=confidence, draws=draws, seed=seed, orders=orders
    )
    rows = []
    for name, group in named_groups(table, chosen_settings(table, by, "by")):
        upwards = numbers(group, columns) * signs
        signed = None if correlations is None else _signed(correlations, name, target, signs)
        for row in _group(upwards, target, signed, correlate):
            reached = {end: row[end] * signs[target] for end in ("selected", "best")}
            rows.append({"group": name, **row, **reached})
    result = pd.DataFrame(rows)
    result.insert(list(result.columns).index("p") + 1, "p_holm", holm(result["p"].to_numpy()))
    return result


def _signed(correlations: pd.DataFrame, group: str, target: str, signs: pd.Series) -> pd.DataFrame:
    """A group's correlations of each score with the target, signed so that higher is better."""
    part = correlations[correlations["group"] == group]
    part = part[(part["left"] == target) | (part["right"] == target)]
    selector = part["right"].where(part["left"] == target, part["left"])
    signed = part.set_axis(pd.Index(selector), axis=0)[[*_CORRELATION, "runs"]]
    signed = signed.loc[[name for name in signed.index if name in signs]]
    turned = signs[signed.index] * signs[target] < 0
    return signed.assign(
        rho=signed["rho"].where(~turned, -signed["rho"]),
        low=signed["low"].where(~turned, -signed["high"]),
        high=signed["high"].where(~turned, -signed["low"]),
    )


def _cover(correlations: pd.DataFrame, scores: list[str], runs: int) -> bool:
    """Whether there is a correlation of each score over all runs."""
    return set(scores) <= set(correlations.index) and bool(
        (correlations.loc[scores, "runs"] == runs).all()
    )


def _group(
    upwards: pd.DataFrame,
    target: str,
    correlations: pd.DataFrame | None,
    correlate: Callable[[pd.DataFrame, str, list[str]], pd.DataFrame],
) -> list[dict[str, Any]]:
    """Rows of one group, from scores signed so that higher is better.

    `correlate` takes their correlations with the target again where a run lacks a score.
    """
    selectors = [str(name) for name in upwards.columns if name != target]
    scored = [name for name in selectors if upwards[name].notna().any()]
    runs = upwards[[target, *scored]].dropna()
    missing = len(upwards) - len(runs)
    note = f"{missing} of {len(upwards)} runs lack a score" if missing else ""
    goal = runs[target]
    if correlations is None or not _cover(correlations, scored, len(runs)):
        correlations = None
        if len(runs) >= LEAST and scored:
            correlations = correlate(runs, target, scored).set_index("right")
    rho: dict[Any, dict[Any, Any]] = {}
    if correlations is not None:
        rho = correlations[list(_CORRELATION)].to_dict("index")
    unknown = dict.fromkeys(_CORRELATION, math.nan)
    choices: dict[str, tuple[dict[Any, Any], float, str]] = {}
    for name in selectors:
        if name not in scored:
            choices[name] = unknown, math.nan, "no run has a value"
        else:
            liked = goal[runs[name] == runs[name].max()]
            choices[name] = rho.get(name, unknown), float(liked.mean()), note
    choices[RANDOM] = {**unknown, "rho": 0.0}, float(goal.mean()), note
    return [
        {
            "selector": name,
            **correlation,
            "selected": reached,
            "best": float(goal.max()),
            "regret": float(goal.max()) - reached,
            "runs": len(runs),
            "note": text,
        }
        for name, (correlation, reached, text) in choices.items()
    ]
