"""Neighbouring states, in which one factor takes its next or previous value."""

import numpy as np

from dislab.factors import Factor, FactorSpace, Indices


def steps(space: FactorSpace, states: Indices, column: int, way: int) -> Indices:
    """States after one factor moves up (`way` 1) or down (−1); -1 if not among `states`.

    `states` are ascending. Circular factors wrap around.
    """
    following = _following(space.factors[column], way)
    positions = space.positions(states)
    positions[:, column] = following[positions[:, column]]
    moves = np.flatnonzero(positions[:, column] >= 0)
    after = np.full(len(states), -1, dtype=np.int64)
    neighbours = space.find(positions[moves])
    member = np.zeros(len(space), dtype=np.bool_)
    member[states] = True
    after[moves] = np.where((neighbours >= 0) & member[neighbours], neighbours, -1)
    return after


def _following(factor: Factor, way: int) -> Indices:
    """The next or previous number of each value; -1 beyond the ends of a non-circular factor."""
    count = len(factor)
    numbers = np.arange(count) + way
    if factor.kind != "circular":
        return np.where((numbers >= 0) & (numbers < count), numbers, -1)
    span = float(np.ptp(factor.numbers))
    # the last value may give the same image as the first, as dSprites' orientations 0 and 2π do
    twins = factor.period is not None and abs(span - factor.period) <= 1e-6 * factor.period
    if not twins or count < 3:
        return numbers % count
    return np.where((numbers >= 0) & (numbers < count), numbers, way % (count - 1))
