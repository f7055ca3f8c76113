"""Sampling weights of states with correlated factors."""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError
from dislab.factors import TOLERANCE, Correlation, Correlations, FactorSpace, Indices


def check_correlations(space: FactorSpace, correlations: Correlations) -> None:
    """Refuses correlations of unknown, equal or constant factors, and repeated pairs."""
    several = _as_list(correlations)
    if not several:
        raise InputError("correlation is an empty list; give correlations, or null for none")
    for correlation in several:
        _check(space, correlation)
        if lacking := set(correlation["factors"]) & set(space.incomplete):
            raise InputError(
                f"correlation names {', '.join(sorted(lacking))}, of which some images have no "
                "value; correlate other factors, or set the data set's gaps to drop"
            )
    pairs = [frozenset(pair) for correlation in several for pair in _pairs_of(correlation)]
    for first, second in combinations(pairs, 2):
        if first == second:
            raise InputError(
                f"{' and '.join(sorted(first))} are correlated twice; give each pair of factors "
                "one correlation"
            )


def likelihoods(
    space: FactorSpace, states: Indices, correlations: Correlations | None
) -> npt.NDArray[np.float64] | None:
    """Sampling weight of each state; None if all are equal.

    The product over all correlated pairs of exp(−(c₁ − α·c₂)² / 2σ²), where c are value numbers
    from 0, or for a continuous factor the differences from its smallest number, α = c₁max / c₂max,
    and σ is the strength times c₁max. Träuble et al. (2021), https://arxiv.org/abs/2006.07886,
    section 3; several pairs, and a factor with all others, as in Roth et al. (2023),
    https://arxiv.org/abs/2210.07347.

    Args:
        space: The factors.
        states: State numbers.
        correlations: The correlated factors and their strengths.

    Raises:
        InputError: No state lies near the bands of all pairs.
    """
    if correlations is None:
        return None
    several = _as_list(correlations)
    places = space.places(space.positions(states))
    exponents = np.zeros(len(states))
    for correlation in several:
        for pair in _pairs_of(correlation):
            columns = [space.column(name) for name in pair]
            first, second = places[:, columns].T
            exponents = exponents - (first - second) ** 2 / (2 * correlation["strength"] ** 2)
    weights: npt.NDArray[np.float64] = np.exp(exponents)
    if not weights.any():
        listed = "; ".join(
            f"{' and '.join(correlation['factors'])} with strength {correlation['strength']}"
            for correlation in several
        )
        raise InputError(
            f"none of the {len(states)} states to draw from lies near the band of a correlation of "
            f"{listed}; raise the strength, or include other states"
        )
    return weights


def _as_list(correlations: Correlations) -> list[Correlation]:
    """One or several correlations as a list."""
    if isinstance(correlations, Mapping):
        return [correlations]
    return list(correlations)


def _pairs_of(correlation: Correlation) -> list[tuple[str, str]]:
    """Pairs of the first factor with each other factor."""
    first, *others = correlation["factors"]
    return [(first, second) for second in others]


def _check(space: FactorSpace, correlation: Correlation) -> None:
    """Refuses a correlation with wrong keys, factors or strength."""
    if set(correlation) != {"factors", "strength"}:
        raise InputError(f"a correlation has factors and a strength, not {dict(correlation)!r}")
    names, strength = correlation["factors"], correlation["strength"]
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError(
            f"a correlation is one of two different factors, not of {names}; name two of "
            f"{', '.join(space.names)}, or one and several others"
        )
    for name in names:
        if len(space[name]) < 2:
            raise InputError(f"factor {name} has a single value and cannot be correlated")
    if not strength >= TOLERANCE:
        raise InputError(
            f"the strength of a correlation is the width of its band, as a fraction of the "
            f"factor's range, and must be at least {TOLERANCE:g}, not {strength!r}"
        )
