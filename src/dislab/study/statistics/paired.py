"""Paired comparisons of settings, corrected for multiple testing."""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from dislab.errors import InputError
from dislab.functional.checks import check_above, check_count
from dislab.study.statistics._frames import (
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
    setting_columns,
)

_LEAST_DRAWS: Final = 9_999
_DRAWS_PER_TEST: Final = 80
"""Sign flips for which 2 / flips, times the number of tests, is half of .05."""
_FAR: Final = 1e6
"""Noncentrality beyond which scipy's distributions are NaN; a test has full power long before."""


def comparisons(
    table: pd.DataFrame,
    between: str,
    scores: Columns = None,
    within: Columns = None,
    detect: float = 0.05,
    confidence: float = 0.95,
    draws: int | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Differences of scores between every pair of values of a setting, paired by seed.

    Two runs form a pair if they differ only in `between` and have the same seed. If a group holds
    several pairs of one seed, their differences are averaged first, so that seeds remain the
    statistical units. One row for each group, score and pair, with the columns of `within` and

    * `score`, `first`, `second`: the score and the two values of `between`;
    * `difference`, `low`, `high`: mean of first − second, and Student's interval of it,
      which fewer than three seeds do not have;
    * `seeds`, `unpaired`: number of seeds with a pair, and number of runs without a partner;
    * `p`: two-sided p value of a sign-flip permutation test on the seeds' differences; exact with
      all 2^seeds sign flips if these are at most `draws`, otherwise with `draws` random ones;
    * `p_holm`: p value with Holm's correction for all rows of this table;
    * `least_p`: the smallest possible p for this number of seeds, 2^(1 − seeds): .06 for five; with
      random sign flips 2 / (draws + 1);
    * `seeds_needed`: number of seeds to detect a mean difference of `detect` in a table of as many
      tests, which fewer than three seeds cannot tell; see `seeds_needed`.

    Good (2005), Permutation, Parametric and Bootstrap Tests of Hypotheses.

    Args:
        table: One row per run.
        between: Name of the column whose values are compared, such as `method`.
        scores: Names of the columns of scores; `None` for every result.
        within: Names of the columns whose values define the groups; `None` for every other
            setting, an empty list for one comparison over all of them.
        detect: Mean difference for `seeds_needed`, in the score's unit.
        confidence: Share of studies whose interval holds the mean, if differences are normal.
        draws: Maximum number of sign flips of one test; `None` for 80 per row of this table, and at
            least 9,999, with which p_holm can be below .05 however long the table is.
        seed: Seed of random sign flips.

    Raises:
        InputError: The table is empty, lacks a column or the seeds, `between` has one value only,
            a score is no number, or a setting is out of bounds.
    """
    check_above("detect", detect, 0)
    check_share("confidence", confidence)
    if draws is not None:
        check_count("draws", draws, 99)
    named_columns(table, [between, SEED], "between")
    columns = chosen_results(table, scores)
    others = [name for name in setting_columns(table) if name != between]
    keys = others if within is None else chosen_settings(table, within, "within")
    levels = _levels(table, between)
    keys = [name for name in keys if name != between]
    rows = []
    for key, group in groups(table, keys):
        settings = [name for name in others if name not in key]
        for name in columns:
            values = _by_level(group, between, settings, name)
            for first, second in combinations(levels, 2):
                if first not in values or second not in values:
                    continue
                differences, unpaired = _by_seed(values[first], values[second])
                names = {"score": name, "first": first, "second": second}
                rows.append(({**key, **names}, differences, unpaired))
    if not rows:
        raise InputError(
            f"within: no two runs differ in {between} and agree in {', '.join(keys)}; "
            "name fewer columns"
        )
    draws = draws or draws_for(sum(len(differences) > 0 for _, differences, _ in rows))
    generator = np.random.default_rng(seed)
    tested = [
        {**names, **_test(differences, confidence, draws, generator), "unpaired": unpaired}
        for names, differences, unpaired in rows
    ]
    return _corrected(pd.DataFrame(tested), detect)


def _corrected(tested: pd.DataFrame, detect: float) -> pd.DataFrame:
    """Adds Holm's correction and the seeds to detect a difference, for all tests together."""
    tests = int(tested["p"].notna().sum())
    tested["seeds_needed"] = pd.array(
        [
            pd.NA if math.isnan(deviation) else seeds_needed(deviation, detect, tests=tests)
            for deviation in tested.pop("deviation")
        ],
        dtype="Int64",
    )
    tested.insert(list(tested.columns).index("p") + 1, "p_holm", holm(tested["p"].to_numpy()))
    return tested


def _levels(table: pd.DataFrame, between: str) -> list[Any]:
    """Values to compare; rejects a single value."""
    levels: list[Any] = keyed(table, [between])[between].drop_duplicates().tolist()
    if len(levels) < 2:
        raise InputError(f"between: every run has {between} = {levels[0]!r}; nothing to compare")
    return levels


def _by_level(group: pd.DataFrame, between: str, settings: list[str], score: str) -> pd.DataFrame:
    """Mean score per value of `between` (columns) and combination of other settings and seed."""
    keys = keyed(group, [*settings, SEED, between])
    keys["value of the score"] = numbers(group, [score])[score].to_numpy()
    means = keys.groupby([*settings, SEED, between], sort=False, dropna=False)["value of the score"]
    return means.mean().unstack(between)


def _by_seed(first: pd.Series, second: pd.Series) -> tuple[npt.NDArray[np.float64], int]:
    """Mean difference of pairs by seed, and the number of runs without a partner."""
    pairs = (first - second).dropna()
    runs = int(first.notna().sum() + second.notna().sum())
    return pairs.groupby(level=SEED).mean().to_numpy(), runs - 2 * len(pairs)


def _test(
    differences: npt.NDArray[np.float64],
    confidence: float,
    draws: int,
    generator: np.random.Generator,
) -> dict[str, Any]:
    """Row of one comparison, from one difference per seed."""
    low, high = interval(differences, confidence)
    count = len(differences)
    return {
        "difference": float(differences.mean()) if count else math.nan,
        "low": low,
        "high": high,
        "seeds": count,
        "p": sign_test(differences, draws, generator),
        "least_p": least_p(count, draws),
        "deviation": float(differences.std(ddof=1)) if count > 2 else math.nan,
    }


def draws_for(tests: int) -> int:
    """Maximum number of sign flips of each of some tests that are corrected together by Holm.

    As many seeds as `seeds_needed` gives at its level have no more, so that their tests are exact.

    Args:
        tests: Number of tests.
    """
    return max(_LEAST_DRAWS, _DRAWS_PER_TEST * tests)


def least_p(count: int, draws: int) -> float:
    """Smallest p that `sign_test` can give; NaN without any difference.

    Args:
        count: Number of differences, one per seed.
        draws: Maximum number of sign flips.
    """
    if not count:
        return math.nan
    return 2.0 ** (1 - count) if 2**count <= draws else 2 / (draws + 1)


def sign_test(
    differences: npt.NDArray[np.float64], draws: int, generator: np.random.Generator
) -> float:
    """Two-sided p value of a sign-flip permutation test for a mean difference of 0.

    Exact if there are at most `draws` sign flips, 2^n in total; NaN without any difference.

    Args:
        differences: One number per pair.
        draws: Maximum number of sign flips.
        generator: Source of randomness, used if there are more than `draws` sign flips.
    """
    if not (count := len(differences)):
        return math.nan
    observed = differences.sum()
    ties = 1e-12 * np.abs(differences).sum()  # sums that differ by rounding alone
    if 2**count <= draws:
        sums = np.abs(_signs(count) @ differences)
        return float((sums >= abs(observed) - ties).mean())
    flips = generator.permuted(np.tile((1, -1), (draws, count, 1)), axis=-1)[..., 0]
    sums = flips @ differences
    tails = (sums >= observed - ties).sum(), (sums <= observed + ties).sum()
    return min(1.0, float(2 * (min(tails) + 1) / (draws + 1)))


@lru_cache(maxsize=4)
def _signs(count: int) -> npt.NDArray[np.float64]:
    """All sign flips in which the last sign is positive; the others have the opposite sums."""
    flipped = np.arange(2 ** (count - 1))[:, None] >> np.arange(count) & 1
    return (1 - 2 * flipped).astype(np.float64)


def holm(p_values: Sequence[float] | npt.NDArray[np.float64]) -> list[float]:
    """P values with Holm's correction, which controls the family-wise error rate.

    NaN p values stay NaN and do not count as tests. Holm (1979),
    https://www.jstor.org/stable/4615733.

    Args:
        p_values: One p value per test.

    Examples:
        >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values, kind="stable")[: np.isfinite(values).sum()]
    corrected = np.full(len(values), math.nan)
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(factors * values[order]), 1.0)
    return [float(value) for value in corrected]


def seeds_needed(
    deviation: float,
    difference: float = 0.05,
    power: float = 0.8,
    level: float = 0.05,
    tests: int = 1,
) -> int:
    """Number of seeds to detect a mean difference, the larger of two requirements.

    The first is the power of a paired, two-sided t test: the smallest n ≥ 2 with P(|T| > t) ≥
    power, where T follows the noncentral t distribution with n − 1 degrees of freedom and
    noncentrality √n·difference/deviation, and t is the central one's quantile at 1 − level/2. For
    large n this is ((1.960 + 0.842)·deviation/difference)² at the defaults. The second is that the
    permutation test of `comparisons` can reach the level after Holm's correction:
    tests·2^(1 − n) < level, which needs six seeds for one test. The power is that of a single test.

    Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, chapter 2.

    Args:
        deviation: Standard deviation of the paired differences.
        difference: Mean difference to detect, in the same unit.
        power: Probability of detecting it.
        level: Significance level, the probability of a false positive.
        tests: Number of tests that are corrected together, such as the rows of `comparisons`.

    Raises:
        InputError: The deviation is negative or not finite, the difference is not above 0, a
            probability does not lie between 0 and 1, or there are no tests.

    >>> seeds_needed(0.01), seeds_needed(0.05), seeds_needed(0.1), seeds_needed(0.01, tests=10)
    (6, 10, 34, 9)
    """
    if not 0 <= deviation < math.inf:
        raise InputError(f"deviation is {deviation!r}; it must be a finite number of at least 0")
    check_above("difference", difference, 0)
    check_share("power", power)
    check_share("level", level)
    check_count("tests", tests, 1)
    to_pass = 2 + math.floor(math.log2(tests / level))
    return max(to_pass, _seeds_of_t_test(deviation / difference, power, level))


def _seeds_of_t_test(units: float, power: float, level: float) -> int:
    """Number of seeds at which a t test has the power; `units` is deviation / difference."""
    from scipy.stats import ncf, norm, t

    # the t test needs at least as many seeds as the normal approximation, and only a few more
    seeds = max(2, math.floor(float((norm.ppf(1 - level / 2) + norm.ppf(power)) * units) ** 2))
    while units:
        bound, shift = t.ppf(1 - level / 2, seeds - 1), min(math.sqrt(seeds) / units, _FAR)
        # of T², because the two tails of the noncentral t are NaN far out
        if ncf.sf(bound**2, 1, seeds - 1, shift**2) >= power:
            break
        seeds += 1
    return seeds
