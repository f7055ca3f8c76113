"""Dimensions of the robot finger and its cube, and collisions with each other and the floor.

Lengths of the finger: https://github.com/open-dynamic-robot-initiative/robot_properties_fingers.
"""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]

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
    """Whether the lower link and its tip collide with neither the floor nor the cube.

    Args:
        state: Values of the seven factors in their units, shape (state, 7).
    """
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
    """Centre of the ball at the finger's end: x, y and z in metres, shape (state, 3).

    Args:
        state: Values of the seven factors in their units, shape (state, 7).
    """
    joint, way = _lower_link(state)
    return joint + LINK * way


def tip_gap(state: Reals) -> Reals:
    """Distance of the tip's surface from the cube's in metres, shape (state,).

    Args:
        state: Values of the seven factors in their units, shape (state, 7).
    """
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
