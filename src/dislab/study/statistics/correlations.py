"""Rank correlations of scores over runs."""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from typing import Any, Final

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from dislab.errors import InputError
from dislab.functional.checks import check_count
from dislab.study.statistics._frames import (
    ALL,
    Columns,
    check_share,
    chosen_results,
    chosen_settings,
    named_columns,
    named_groups,
    numbers,
)
from dislab.study.statistics.paired import holm

LEAST: Final = 3
"""Minimum number of runs for a rank correlation."""
NUMBERS_AT_ONCE: Final = 2**22
"""Maximum number of resampled scores in memory at a time."""


def rank_correlations(
    table: pd.DataFrame,
    scores: Columns = None,
    against: Columns = None,
    by: Columns = (),
    confidence: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
    orders: int | None = None,
) -> pd.DataFrame:
    """Spearman's rank correlation of every pair of scores, over all runs and within groups.

    One row for each group and pair:

    * `group`: `all`, or the values of `by`, such as `method=FactorVAE`;
    * `left`, `right`: names of the two scores;
    * `rho`: correlation of the ranks, in [−1, 1]; equal scores share the mean of their ranks;
    * `low`, `high`: percentile bootstrap interval, resampling runs with replacement; NaN where all
      resamples give the same ρ, or so many have a constant score that ρ is outside the others';
    * `p`: two-sided permutation p value; exact if there are at most `orders` permutations of runs;
    * `p_holm`: p value with Holm's correction for all rows of this table;
    * `runs`: number of runs with both scores; the others are left out of this pair;
    * `note`: missing scores, and the reason why a correlation is NaN: fewer than three runs, or a
      score that is constant.

    Runs are treated as independent. Over all runs, a correlation can result from differences
    between groups only, and have the opposite sign within each group.

    Spearman (1904), https://doi.org/10.2307/1412159.

    Args:
        table: One row per run.
        scores: Names of the columns to correlate; `None` for every result.
        against: Names of the columns to correlate `scores` with; `None` for `scores` themselves.
        by: Names of the columns whose values define the groups; `None` for every setting.
        confidence: Share of the resampled correlations that the interval holds.
        draws: Number of bootstrap resamples.
        seed: Seed of resamples and permutations.
        orders: Maximum number of permutations of a test; `None` for as many as `draws`. With many
            rows, Holm's correction needs many: the smallest p is 1/(orders + 1).

    Raises:
        InputError: The table is empty or lacks a column, a score is no number, there is no pair,
            or a setting is out of bounds.
    """
    check_share("confidence", confidence)
    check_count("draws", draws, 99)
    orders = draws if orders is None else orders
    check_count("orders", orders, 99)
    columns = chosen_results(table, scores)
    pairs = list(combinations(columns, 2))
    if against is not None:
        others = named_columns(table, against, "against")
        pairs = [(first, second) for first in columns for second in others if first != second]
    if not pairs:
        raise InputError("a rank correlation needs two different scores; name another one")
    generator = np.random.default_rng(seed)
    rows = []
    for name, group in named_groups(table, chosen_settings(table, by, "by")):
        values = numbers(group, [column for pair in pairs for column in pair])
        results = _pairs(values, pairs, confidence, (draws, orders), generator)
        for pair in pairs:
            rows.append({"group": name, "left": pair[0], "right": pair[1], **results[pair]})
    result = pd.DataFrame(rows)
    result.insert(list(result.columns).index("p") + 1, "p_holm", holm(result["p"].to_numpy()))
    return result


def correlation_table(correlations: pd.DataFrame, group: str = ALL) -> pd.DataFrame:
    """Correlations of one group as a matrix, with left scores as rows and right scores as columns.

    Symmetric, with 1 on the diagonal, if every score was correlated with every other; NaN in
    row and column of a constant score.

    Args:
        correlations: Result of `rank_correlations`.
        group: Name of the group.

    Raises:
        InputError: There is no such group.
    """
    groups = list(correlations["group"].unique())
    if group not in groups:
        raise InputError(f"group is {group!r}; the groups are {', '.join(groups)}")
    part = correlations[correlations["group"] == group]
    lefts, rights = list(part["left"].unique()), list(part["right"].unique())
    names = list(dict.fromkeys([*lefts, *rights]))
    rho = part.set_index(["left", "right"])["rho"].unstack().reindex(lefts, columns=rights)
    if len(part) == math.comb(len(names), 2):
        rho = rho.reindex(names, columns=names)
        rho = rho.fillna(rho.T)
        itself = np.diag(rho.notna().any(axis=1))  # NaN for a constant score
        rho = rho.mask(itself, 1.0)
    return rho.rename_axis(index=None, columns=None)


def _pairs(
    values: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    confidence: float,
    draws: tuple[int, int],
    generator: np.random.Generator,
) -> dict[tuple[str, str], dict[str, Any]]:
    """Results of every pair; pairs of scores known for the same runs share their draws.

    `draws` are the numbers of resamples and of permutations.
    """
    is_finite = values.notna().to_numpy()
    indices = {name: index for index, name in enumerate(values.columns)}
    sharing: dict[bytes, list[tuple[str, str]]] = {}
    for pair in pairs:
        both = is_finite[:, indices[pair[0]]] & is_finite[:, indices[pair[1]]]
        sharing.setdefault(both.tobytes(), []).append(pair)
    results = {}
    for mask, members in sharing.items():
        both = np.frombuffer(mask, dtype=bool)
        names = list(dict.fromkeys(name for pair in members for name in pair))
        columns = values.loc[both, names].to_numpy()
        moving = (columns != columns[:1]).any(0) if len(columns) else np.zeros(len(names), bool)
        used = [name for name, moves in zip(names, moving, strict=True) if moves]
        few = len(columns) < LEAST
        matrices = {}
        if not few and len(used) > 1:
            matrices = _matrices(columns[:, moving], confidence, draws, generator)
        for pair in members:
            notes = [f"{name} is constant" for name in pair if len(columns) and name not in used]
            if few:
                notes = [f"fewer than {LEAST} runs have both"]
            if missing := int((~both).sum()):
                notes.append(f"{missing} of {len(both)} runs lack one")
            numbers = dict.fromkeys(("rho", "low", "high", "p"), math.nan)
            if matrices and set(pair) <= set(used):
                cell = tuple(used.index(name) for name in pair)
                numbers = {name: float(matrix[cell]) for name, matrix in matrices.items()}
            if math.isclose(numbers["low"], numbers["high"], abs_tol=1e-9):  # of equal orders
                numbers |= {"low": math.nan, "high": math.nan}
                notes.append("no interval: all resamples give the same ρ")
            elif numbers["rho"] > numbers["high"] + 1e-9 or numbers["rho"] < numbers["low"] - 1e-9:
                numbers |= {"low": math.nan, "high": math.nan}
                notes.append("no interval: too many scores are equal to resample them")
            results[pair] = {**numbers, "runs": len(columns), "note": "; ".join(notes)}
    return results


def _matrices(
    columns: Float[np.ndarray, "run score"],
    confidence: float,
    draws: tuple[int, int],
    generator: np.random.Generator,
) -> dict[str, Float[np.ndarray, "score score"]]:
    """Correlation, interval bounds and p value of every pair of columns, none of them constant."""
    units = _unit_ranks(columns)
    rho = (units.T @ units).round(12) + 0.0  # avoids 4e-17 and negative zero
    tail = (1 - confidence) / 2
    resamples = generator.integers(len(columns), size=(draws[0], len(columns)))
    resampled = []
    for rows in _chunks(resamples, columns.shape[1]):
        ranks = _unit_ranks(columns[rows])
        resampled.append(ranks.mT @ ranks)
    # a resample in which a score is constant has no correlation
    low, high = np.nanquantile(np.concatenate(resampled), (tail, 1 - tail), axis=0).clip(-1, 1)
    orders, beyond = 0, np.zeros(rho.shape)
    for rows in _orders(len(columns), draws[1], columns.shape[1], generator):
        orders += len(rows)
        beyond += (np.abs(units[rows].mT @ units) >= np.abs(rho) - 1e-12).sum(0)
    return {"rho": rho, "low": low, "high": high, "p": beyond / orders}


def _unit_ranks(
    columns: Float[np.ndarray, "*draw run score"],
) -> Float[np.ndarray, "*draw run score"]:
    """Ranks in each column, centred and normalised to length 1; NaN for a constant column."""
    from scipy.stats import rankdata

    ranks = rankdata(columns, axis=-2)
    centred = ranks - ranks.mean(-2, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray(centred / np.linalg.norm(centred, axis=-2, keepdims=True))


def _chunks(rows: Int[np.ndarray, "draw run"], columns: int) -> list[Int[np.ndarray, "_ run"]]:
    """Splits the draws into chunks for which the numbers of all columns fit into memory."""
    return np.array_split(rows, -(-rows.size * columns // NUMBERS_AT_ONCE))


def _orders(
    runs: int, draws: int, columns: int, generator: np.random.Generator
) -> Iterator[Int[np.ndarray, "_ run"]]:
    """All permutations of the runs or, if these exceed `draws`, the identity and random ones.

    They come in chunks for which the numbers of all columns fit into memory.
    """
    if math.factorial(min(runs, 20)) <= draws:
        yield from _chunks(np.array(list(permutations(range(runs)))), columns)
        return
    order = np.arange(runs)
    yield order[None]
    most = max(1, NUMBERS_AT_ONCE // (runs * columns))
    for start in range(0, draws, most):
        yield generator.permuted(np.tile(order, (min(most, draws - start), 1)), axis=1)
