"""States of the robot finger: its dimensions, collisions, seven factors and feasible combinations.

Ranges and numbers of values, and the exclusion of states in which the finger would collide with
the cube or the floor, follow Dittadi et al. (2021), https://arxiv.org/abs/2010.14407. Lengths of
the finger: https://github.com/open-dynamic-robot-initiative/robot_properties_fingers.
"""

import math
from functools import lru_cache
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace, Indices
from dislab.functional.checks import check_at_least, check_choice

Reals = npt.NDArray[np.float64]
"""Numbers; states have shape (state, 7), the values of the seven factors in their units."""

LINK: Final = 0.16
"""Lengths of the middle and the lower link, in metres."""

BASE: Final = 0.29
"""Height of the finger's base above the floor, in metres."""

CUBE: Final = 0.065
"""Side of the cube, in metres."""

LOWER: Final = (0.01, 0.14, 0.0075)
"""Start and end of the lower link's round rod, as distances from its joint, and its radius."""

TIP: Final = 0.0125
"""Radius of the ball at the end of the lower link, in metres."""

_GOLDEN: Final = (math.sqrt(5) - 1) / 2
_STEPS: Final = 28


def feasible(state: Reals) -> npt.NDArray[np.bool_]:
    """Whether the lower link and its tip collide with neither the floor nor the cube."""
    start, way = _lower_link(state)
    low, high, radius = LOWER
    heights = [start[:, 2] + t * way[:, 2] - r for t, r in ((low, radius), (high, radius))]
    above = np.minimum.reduce([*heights, start[:, 2] + LINK * way[:, 2] - TIP]) >= 0
    checked = np.flatnonzero(above)
    start, way = _beside_cube(state[checked], start[checked]), _turned(state[checked], way[checked])
    free = _gap(start, way, np.full(len(checked), LINK)) >= TIP
    # the distance to a box is convex along a line
    lower, upper = np.full(len(checked), low), np.full(len(checked), high)
    for _ in range(_STEPS):
        reach = _GOLDEN * (upper - lower)
        inner, outer = upper - reach, lower + reach
        nearer = _gap(start, way, inner) < _gap(start, way, outer)
        lower, upper = np.where(nearer, lower, inner), np.where(nearer, outer, upper)
    free &= _gap(start, way, (lower + upper) / 2) >= radius
    result = np.zeros(len(state), dtype=np.bool_)
    result[checked] = free
    return result


def tip(state: Reals) -> Reals:
    """Centre of the ball at the finger's end: x, y and z in metres, shape (state, 3)."""
    joint, way = _lower_link(state)
    return joint + LINK * way


def tip_gap(state: Reals) -> Reals:
    """Distance of the tip's surface from the cube's in metres, shape (state,)."""
    centre = _beside_cube(state, tip(state))
    return _gap(centre, np.zeros_like(centre), np.zeros(len(state))) - TIP


def _lower_link(state: Reals) -> tuple[Reals, Reals]:
    """Position of the lower link's joint, and the unit vector along the link."""
    first, second, third = state[:, 1], state[:, 2], state[:, 3]
    zero = np.zeros_like(first)
    middle = np.stack([zero, -np.sin(second), -np.cos(second)], axis=1)
    lower = np.stack([zero, np.sin(third - second), -np.cos(third - second)], axis=1)
    joint, way = (_swung(first, link) for link in (LINK * middle, lower))
    return joint + np.array([0, 0, BASE]), way


def _swung(angle: Reals, vector: Reals) -> Reals:
    """The vector rotated by an angle about the y axis, from z to x."""
    cosine, sine = np.cos(angle), np.sin(angle)
    x, y, z = vector.T
    return np.stack([cosine * x + sine * z, y, cosine * z - sine * x], axis=1)


def _beside_cube(state: Reals, point: Reals) -> Reals:
    """Converts points to the coordinates of the cube."""
    centre = np.stack([state[:, 4], state[:, 5], np.full(len(state), CUBE / 2)], axis=1)
    return _turned(state, point - centre)


def _turned(state: Reals, vector: Reals) -> Reals:
    cosine, sine = np.cos(state[:, 6]), np.sin(state[:, 6])
    x, y, z = vector.T
    return np.stack([cosine * x + sine * y, cosine * y - sine * x, z], axis=1)


def _gap(start: Reals, way: Reals, along: Reals) -> Reals:
    """Distance of points on lines from the cube."""
    beyond = np.maximum(np.abs(start + along[:, None] * way) - CUBE / 2, 0)
    return np.asarray(np.sqrt(np.square(beyond).sum(axis=1)))


Hues = Literal["train", "heldout", "all"]
"""Hues of the cube: eight for training, four held out, or all twelve."""

MOST: Final = 10_000_000
"""Maximum number of states."""

_HELDOUT: Final = (1, 2, 3, 8)
"""Value numbers of the held-out hues: 30, 60, 90 and 240 degrees."""

MOST_PARTNERS: Final = 10
"""Maximum number of partners of a state."""

_ROUND: Final = 65_536
_ROUND_WITH_PARTNERS: Final = 4096
"""Proposals at a time: fewer with partners, which are compared with all values of a factor."""


def _even(reach: float) -> tuple[float, ...]:
    return tuple(np.linspace(-reach, reach, 30).tolist())


FACTORS: Final = (
    Factor("color", tuple(30.0 * k for k in range(12)), "circular", unit="deg", period=360.0),
    Factor("joint0", _even(0.65), unit="rad"),
    Factor("joint1", _even(0.5), unit="rad"),
    Factor("joint2", _even(0.8), unit="rad"),
    Factor("x", _even(0.11), unit="m"),
    Factor("y", _even(0.11), unit="m"),
    # the cube is symmetric under quarter turns
    Factor(
        "angle",
        tuple(math.pi / 20 * k for k in range(10)),
        "circular",
        unit="rad",
        period=math.pi / 2,
    ),
)

_SIZES: Final = tuple(len(factor) for factor in FACTORS)


def check_states(states: int, hues: Hues, seed: int, partners: int = 0) -> None:
    """Rejects settings for which no states can be drawn.

    Allowed are 1 to ten million states, a seed of at least 0, and 0 to ten partners per state.
    """
    check_choice("hues", hues, get_args(Hues))
    check_at_least("seed", seed, 0)
    if not 0 < states <= MOST:
        raise InputError(f"states is {states}; the finger is drawn in 1 to {MOST} states")
    if not 0 <= partners <= MOST_PARTNERS:
        raise InputError(f"partners is {partners}; a state has 0 to {MOST_PARTNERS} of them")


@lru_cache(maxsize=4)  # the same states serve each data set of a study
def sample(states: int, hues: Hues, seed: int, partners: int = 0) -> FactorSpace:
    """Different feasible states, drawn uniformly.

    With the same seed, a smaller sample is a prefix of a larger one. Each drawn state is followed
    by `partners` states that differ from it in one factor; the number of states includes them.
    """
    check_states(states, hues, seed, partners)
    generator = np.random.default_rng(seed)
    allowed = [_hue_numbers(hues), *(np.arange(size) for size in _SIZES[1:])]
    sampled, keys = np.empty((0, 1 + partners, len(_SIZES)), dtype=np.uint8), np.empty(0, np.int64)
    new: npt.NDArray[np.bool_] = np.empty(0, dtype=np.bool_)
    while new.sum() * (1 + partners) < states:
        proposed = _proposals(generator, allowed, partners)
        columns = tuple(np.moveaxis(proposed.astype(np.int64), -1, 0))
        keys = np.append(keys, np.ravel_multi_index(columns, _SIZES))
        sampled = np.concatenate([sampled, proposed])
        # a state is kept together with its partners, if none of them was proposed before
        first = np.zeros(len(keys), dtype=np.bool_)
        first[np.unique(keys, return_index=True)[1]] = True
        new = np.asarray(first.reshape(-1, 1 + partners).all(axis=1))
    table = sampled[new].reshape(-1, len(_SIZES))[:states]
    table.setflags(write=False)
    return FactorSpace(FACTORS, table)


def _proposals(
    generator: np.random.Generator, allowed: list[Indices], partners: int
) -> npt.NDArray[np.uint8]:
    """Feasible states, each followed by its partners, shape (states, 1 + partners, 7)."""
    count = _ROUND_WITH_PARTNERS if partners else _ROUND
    sampled = generator.integers(_SIZES, size=(count, len(_SIZES)), dtype=np.uint8)
    sampled[:, 0] = generator.choice(allowed[0], size=count)
    sampled = sampled[feasible(values(sampled))]
    several, complete = [sampled], np.ones(len(sampled), dtype=np.bool_)
    for _ in range(partners):
        partner = sampled.copy()
        column = generator.integers(len(_SIZES), size=len(sampled))
        chance = generator.random(len(sampled))
        for factor, numbers in enumerate(allowed):
            rows = np.flatnonzero(column == factor)
            others, some = _elsewhere(sampled[rows], factor, numbers)
            # the n-th feasible value, with n drawn uniformly
            rank = np.floor(chance[rows] * some.sum(axis=1)).astype(np.int64)
            choice = (some.cumsum(axis=1) > rank[:, None]).argmax(axis=1)
            partner[rows] = others[np.arange(len(rows)), choice]
            complete[rows] &= some.any(axis=1)
        several.append(partner)
    return np.stack(several, axis=1)[complete]


def _elsewhere(
    state: npt.NDArray[np.uint8], factor: int, numbers: Indices
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_]]:
    """The states with each value of a factor in turn, and a mask of feasible changed states."""
    moved = np.repeat(state[:, None], len(numbers), axis=1)
    moved[:, :, factor] = numbers
    differs = moved[:, :, factor] != state[:, None, factor]
    free = feasible(values(moved.reshape(-1, len(FACTORS)))).reshape(differs.shape)
    return moved, differs & free


def _hue_numbers(hues: Hues) -> Indices:
    """Value numbers of the hues that a cube may have."""
    index = np.arange(len(FACTORS[0]))
    is_held_out = np.isin(index, _HELDOUT)
    return {"train": index[~is_held_out], "heldout": index[is_held_out], "all": index}[hues]


def values(positions: npt.NDArray[Any]) -> Reals:
    """Values of the factors in their units."""
    columns = [factor.numbers[positions[:, k]] for k, factor in enumerate(FACTORS)]
    return np.stack(columns, axis=1)
