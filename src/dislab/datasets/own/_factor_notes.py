"""What reports on own images say of their factors, and the settings that follow."""

import math
import re
from typing import Any, Final

from dislab.factors import Factor, FactorSpace

_ANGLE: Final = re.compile(
    r"angle|hue|azimuth|orientation|degree|rotation|heading|yaw|bearing|longitude", re.IGNORECASE
)
"""Matches names of factors that may be angles."""
_TURN: Final = 360


def described(factor: Factor) -> str:
    """Kind and values of a factor in a few words."""
    first, last = factor.values[0], factor.values[-1]
    if len(factor) == 1:
        return f"only the value {first}, so scores leave it out"
    return f"{factor.kind}, {len(factor):,} values from {first} to {last}"


def of_few(space: FactorSpace) -> list[str]:
    """A note on the scores that factors allow, if fewer than two of them vary."""
    varied = [name for name in space.essential_names if len(space[name]) > 1]
    if len(varied) > 1 or not space.essential_names:
        return []
    factors = f"only the factor {varied[0]} varies" if varied else "no factor varies"
    left = "scores that tell factors apart, such as DCI and the FactorVAE score, are left out"
    return [f"{factors}: {left if varied else 'there are no scores'}"]


def of_angles(space: FactorSpace) -> list[str]:
    """A note on factors whose names and numbers are those of angles, if they have no period."""
    angles = {
        factor.name: _TURN if factor.numbers.max() > math.tau else round(math.tau, 4)
        for factor in space.factors
        if _ANGLE.search(factor.name)
        and factor.kind in ("ordinal", "continuous")
        and factor.period is None
        and factor.numbers.min() >= 0
        and 1 < factor.numbers.max() <= _TURN
    }
    periods = ", ".join(f"{name}: {period}" for name, period in angles.items())
    are = "is an angle that returns" if len(angles) == 1 else "are angles that return"
    text = f"{', '.join(angles)}: if this {are} to its start, add periods: {{{periods}}} to the"
    return [f"{text} settings of the data set"] if angles else []


def of_measured(space: FactorSpace | None) -> dict[str, Any]:
    """The setting `kinds` of factors that were found to be continuous, so that it is decided."""
    factors = space.factors if space else ()
    kinds = {factor.name: factor.kind for factor in factors if factor.kind == "continuous"}
    return {"kinds": kinds} if kinds else {}
