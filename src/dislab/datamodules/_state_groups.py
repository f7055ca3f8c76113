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
    rows[..., [column for column, one in enumerate(dataset.factors.factors) if one.nuisance]] = 0
    return rows


def groups(rows: Indices) -> Indices:
    """Consecutive numbers of the distinct rows, from 0; without columns all rows are equal."""
    number = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        # renumbered at every column, so that products of sizes cannot overflow
        number = np.unique(number * (int(column.max()) + 1) + column, return_inverse=True)[1]
    return number


def places(lots: npt.NDArray[np.float64]) -> npt.NDArray[np.int16]:
    """The rank of each number in its short row, from 0 for the smallest."""
    columns = np.ascontiguousarray(lots.T)
    place = np.zeros(columns.shape, dtype=np.int16)
    # much faster for short rows than sorting each of them
    for column in columns:
        place += columns > column
    return place.T


class Sampler:
    """Draws positions between bounds, uniformly or in proportion to a weight per position."""

    def __init__(self, count: int, weights: Weights | None = None) -> None:
        self._count = count
        self._cumulative = None if weights is None else np.append(0.0, np.cumsum(weights))

    def draw(self, generator: np.random.Generator, shape: int | tuple[int, ...]) -> Indices:
        """Draws from all positions, with replacement."""
        if self._cumulative is None:
            return generator.integers(self._count, size=shape)
        return self._place(generator.random(shape) * self._cumulative[-1], 0, self._count)

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
        return self._place(height, low, high)

    def _place(self, height: npt.NDArray[np.float64], low: Any, high: Any) -> Indices:
        assert self._cumulative is not None
        place = np.searchsorted(self._cumulative, height, side="right") - 1
        return np.clip(place, low, high - 1)  # rounding could leave the interval


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
        whole = groups(rows)
        orders, starts, stops, varied = [], [], [], []
        for number, columns in enumerate(shared):
            group = groups(rows[:, list(columns)])
            order = np.argsort(group, kind="stable")
            bounds = np.append(0, np.cumsum(np.bincount(group)))
            differing = np.maximum.reduceat(whole[order], bounds[:-1]) > np.minimum.reduceat(
                whole[order], bounds[:-1]
            )
            orders.append(order)
            starts.append(bounds[group] + number * count)
            stops.append(bounds[group + 1] + number * count)
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
        place = which * self.count + row
        low, high = self._start[place], self._stop[place]
        return self._order[self._sampler.between(generator, low, high, (proposals, len(row)))]

    def members(self, which: int, row: int) -> Indices:
        """All rows that agree with `row` in the column set `which`."""
        place = which * self.count + row
        return self._order[self._start[place] : self._stop[place]]
