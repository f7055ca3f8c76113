"""Correlated factors: how often a state is drawn."""

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError
from dislab.factors import TOLERANCE, Correlation, FactorSpace, Indices


def check_correlation(space: FactorSpace, correlation: Correlation) -> None:
    """Looks whether a correlation can be drawn.

    Args:
        space: The factors.
        correlation: Which two, and how strongly.

    Raises:
        InputError: It does not name two different factors that vary, or the strength is no
            positive number.
    """
    if set(correlation) != {"factors", "strength"}:
        raise InputError(f"a correlation has factors and a strength, not {dict(correlation)!r}")
    names, strength = correlation["factors"], correlation["strength"]
    if len(names) != 2 or names[0] == names[1]:
        raise InputError(
            f"a correlation is one of two different factors, not of {names}; give two of "
            f"{', '.join(space.names)}"
        )
    for name in names:
        if len(space[name]) < 2:
            raise InputError(f"factor {name} has one value alone and correlates with nothing")
    if not strength >= TOLERANCE:
        raise InputError(
            f"the strength of a correlation is the width of its band, as a fraction of the "
            f"factor's range, and must be at least {TOLERANCE:g}, not {strength!r}"
        )


def likelihoods(
    space: FactorSpace, states: Indices, correlation: Correlation | None
) -> npt.NDArray[np.float64] | None:
    """How likely each state is drawn, up to a common factor; None where all are alike.

    p ∝ exp(−(c₁ − α·c₂)² / 2σ²) with value numbers c from 0, or the numbers of a continuous factor
    above its smallest one, α = c₁max / c₂max, and σ the strength times c₁max. Träuble et al.
    (2021), https://arxiv.org/abs/2006.07886, section 3.

    Args:
        space: The factors.
        states: State numbers.
        correlation: Which two factors, and how strongly.

    Raises:
        InputError: No state is anywhere near the band.
    """
    if correlation is None:
        return None
    columns = [space.column(name) for name in correlation["factors"]]
    first, second = space.places(space.positions(states))[:, columns].T
    weights: npt.NDArray[np.float64] = np.exp(
        -((first - second) ** 2) / (2 * correlation["strength"] ** 2)
    )
    if not weights.any():
        raise InputError(
            f"none of the {len(states)} training states lies near the band of a correlation of "
            f"{' and '.join(correlation['factors'])} with strength {correlation['strength']}; "
            "raise the strength, or include other states"
        )
    return weights
