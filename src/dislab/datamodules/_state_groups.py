"""Index structures: states sorted by shared factors, and draws among states that share them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dislab.base import Dataset
from dislab.factors import Indices

Weights = npt.NDArray[np.float64]


def canonical_positions(dataset: Dataset, states: Indices) -> Indices:
    """Value numbers of the first state with the same image, one row per state.

    Two states count as equal in a factor if these numbers agree, even if their labels differ, as
    for dSprites at orientations 0 and 2π. In a nuisance factor all states count as equal: it may
    change together with any other factor, and never counts as a change.
    """
    rows = dataset.factors.positions(dataset.canonical(states))
    nuisance = [column for column, factor in enumerate(dataset.factors.factors) if factor.nuisance]
    rows[..., nuisance] = 0
    return rows


def groups(rows: Indices) -> Indices:
    """Consecutive numbers of the distinct rows, from 0; without columns all rows are equal."""
    group = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        # renumbered at every column, so that products of sizes cannot overflow
        group = np.unique(group * (int(column.max()) + 1) + column, return_inverse=True)[1]
    return group


def ranks(lots: npt.NDArray[np.float64]) -> npt.NDArray[np.int16]:
    """The rank of each number in its short row, from 0 for the smallest."""
    columns = np.ascontiguousarray(lots.T)
    rank = np.zeros(columns.shape, dtype=np.int16)
    # much faster for short rows than sorting each of them
    for column in columns:
        rank += columns > column
    return rank.T


class Sampler:
    """Draws positions between bounds, uniformly or in proportion to a weight per position."""

    def __init__(self, count: int, weights: Weights | None = None) -> None:
        self._count = count
        self._cumulative = None if weights is None else np.append(0.0, np.cumsum(weights))

    def draw(self, generator: np.random.Generator, shape: int | tuple[int, ...]) -> Indices:
        """Draws from all positions, with replacement."""
        if self._cumulative is None:
            return generator.integers(self._count, size=shape)
        return self._position(generator.random(shape) * self._cumulative[-1], 0, self._count)

    def between(
        self,
        generator: np.random.Generator,
        low: Indices,
        high: Indices,
        shape: tuple[int, ...] | None = None,
    ) -> Indices:
        """Draws one position in each interval [low, high); the bounds broadcast to `shape`."""
        shape = low.shape if shape is None else shape
        if self._cumulative is None:
            return generator.integers(low, high, size=shape)
        before = self._cumulative[low]
        height = before + generator.random(shape) * (self._cumulative[high] - before)
        return self._position(height, low, high)

    def _position(self, height: npt.NDArray[np.float64], low: Any, high: Any) -> Indices:
        assert self._cumulative is not None
        position = np.searchsorted(self._cumulative, height, side="right") - 1
        return np.clip(position, low, high - 1)  # rounding could leave the interval


class StateGroups:
    """States sorted once per set of columns; states that agree in these columns form a group.

    The rows are the result of `canonical_positions`, one per state. States are drawn in proportion
    to their weights, uniformly if None.
    """

    def __init__(
        self, rows: Indices, shared: Sequence[Sequence[int]], weights: Weights | None = None
    ) -> None:
        count = len(rows)
        self.count = count
        look = groups(rows)
        orders, starts, stops, varied = [], [], [], []
        for index, columns in enumerate(shared):
            group = groups(rows[:, list(columns)])
            order = np.argsort(group, kind="stable")
            bounds = np.append(0, np.cumsum(np.bincount(group)))
            differing = np.maximum.reduceat(look[order], bounds[:-1]) > np.minimum.reduceat(
                look[order], bounds[:-1]
            )
            orders.append(order)
            starts.append(bounds[group] + index * count)
            stops.append(bounds[group + 1] + index * count)
            varied.append(differing[group])
        self._order = np.concatenate(orders)
        self._start = np.concatenate(starts)
        self._stop = np.concatenate(stops)
        # whether the group of a state contains images other than its own
        self.varied = np.stack(varied)
        self._sampler = Sampler(len(self._order), None if weights is None else weights[self._order])

    def pick(
        self, generator: np.random.Generator, which: Indices, row: Indices, proposals: int = 1
    ) -> Indices:
        """Draws rows, shape (proposals, row), that agree with `row` in the column sets `which`."""
        offset = which * self.count + row
        low, high = self._start[offset], self._stop[offset]
        return self._order[self._sampler.between(generator, low, high, (proposals, len(row)))]

    def members(self, which: int, row: int) -> Indices:
        """All rows that agree with `row` in the column set `which`."""
        offset = which * self.count + row
        return self._order[self._start[offset] : self._stop[offset]]
