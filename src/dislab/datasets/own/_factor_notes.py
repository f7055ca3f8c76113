"""What reports on own images say of their factors, and the settings that follow."""

import math
import shlex
from collections.abc import Sequence
from itertools import combinations
from typing import Any, Final

import numpy as np

from dislab.datasets.own._columns import identifiers, listing
from dislab.factors import MISSING, Factor, FactorSpace, Indices, may_be_angle

_TURN: Final = 360


def described(factor: Factor) -> str:
    """Kind and values of a factor in a few words."""
    first, last = map(_shown, (factor.values[0], factor.values[-1]))
    if len(factor) == 1:
        return f"only the value {first}, so scores leave it out"
    if factor.kind == "categorical":
        return f"categorical, {len(factor):,} values: {listing([*map(_shown, factor.values)])}"
    return f"{factor.kind}, {len(factor):,} values from {first} to {last}"


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


def of_few(space: FactorSpace) -> list[str]:
    """A note on the scores that factors allow, if fewer than two of them vary."""
    varied = [name for name in space.essential_names if len(space[name]) > 1]
    if len(varied) > 1 or not space.essential_names:
        return []
    factors = f"only the factor {varied[0]} varies" if varied else "no factor varies"
    left = "scores that tell factors apart, such as DCI and the FactorVAE score, are left out"
    return [f"{factors}: {left if varied else 'there are no scores'}"]


def equal_factors(space: FactorSpace) -> dict[str, str]:
    """Each factor that tells the same of every image as one before it, with that one's name.

    Factors with more values than half of the images name images rather than describe them.
    """
    positions = space.positions(np.arange(len(space)))
    names = [name for name in space.essential_names if 1 < len(space[name]) <= len(space) / 2]
    equal: dict[str, str] = {}
    for first, second in combinations(names, 2):
        pairs = positions[:, [space.names.index(first), space.names.index(second)]]
        pairs = pairs[(pairs >= 0).all(1)]
        if {len(np.unique(each)) for each in pairs.T} == {len(np.unique(pairs, axis=0))}:
            equal.setdefault(second, first)
    return equal


def of_equal(space: FactorSpace) -> list[str]:
    """A note on each factor that tells the same as another."""
    return [
        f"{second} tells the same as {first}, and both would count in the scores: leave one out, "
        "as --factors takes the others"
        for second, first in equal_factors(space).items()
    ]


def of_angles(space: FactorSpace) -> list[str]:
    """A note on factors whose names and numbers are those of angles, if they have no period."""
    angles = {
        factor.name: _TURN if factor.numbers.max() > math.tau else round(math.tau, 4)
        for factor in space.factors
        if may_be_angle(factor.name)
        and factor.kind in ("ordinal", "continuous")
        and factor.period is None
        and factor.numbers.min() >= 0
        and 1 < factor.numbers.max() <= _TURN
        and not (factor.numbers.max() <= math.tau and (factor.numbers % 1 == 0).all())  # a count
    }
    options = " ".join(
        f"{shlex.quote(f'--data.dataset.periods.{name}')} {period}"
        for name, period in angles.items()
    )
    is_angle, its = ("this is an angle that returns", "its")
    if len(angles) > 1:
        is_angle, its = ("these are angles that return", "their")
    periods = ", ".join(f"{name}: {period}" for name, period in angles.items())
    text = (
        f"{', '.join(angles)}: if {is_angle} to {its} start, give `dislab fit` {options}, or for "
        f"all runs write periods: {{{periods}}} into init_args of the data set"
    )
    return [text] if angles else []


def other_factors(
    space: FactorSpace, order: Indices, names: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Which of the columns are factors if others have one value, or only tell images apart.

    Args:
        space: The factors of all columns.
        order: The states in the order of the images.
        names: Names of the columns.

    Returns:
        The columns that are factors, none if all may stay; notes on those that are left out.
    """
    constant = [name for name in names if name in space.names and len(space[name]) == 1]
    found = identifiers(space, order)
    varied = [name for name in names if name not in constant]
    others = [name for name in varied if name not in found] or varied
    notes, left_out, last, hint = list[str](), "left out", -1, ""
    if varied and constant:
        are = "has one value and is no factor"
        if len(constant) > 1:
            are = "have one value each and are no factors"
        shown = listing([f"{name} ({_shown(space[name].values[0])})" for name in constant])
        lacking = space.positions(np.arange(len(space))) == MISSING
        is_constant = np.array([name in constant for name in space.essential_names])
        lacking = lacking[:, list(space.essential)]
        gaps = (lacking[:, is_constant].any(1) & ~lacking[:, ~is_constant].all(1)).any()
        hint = "; if a missing value means something, such as no, write that" if gaps else ""
        notes.append(f"{shown} {are}: {left_out}")
        last = 0
    for name, how in found.items():
        is_left_out = name in names and name not in others
        end = left_out if is_left_out else "scores of it say little"
        last = len(notes) if is_left_out else last
        notes.append(f"{name} {how} the images, and is probably no factor: {end}")
    if last >= 0:  # once, behind the last of these notes
        notes[last] += f"; --factors {' '.join(map(shlex.quote, names))} takes all columns"
        notes[0] += hint
    return others if len(others) < len(names) else [], notes


def of_measured(space: FactorSpace | None) -> dict[str, Any]:
    """The setting `kinds` of factors that were found to be continuous, so that it is decided."""
    factors = space.factors if space else ()
    kinds = {factor.name: factor.kind for factor in factors if factor.kind == "continuous"}
    return {"kinds": kinds} if kinds else {}
