"""Second images of pairs: states that differ from given ones in certain factors only."""

import math
from itertools import combinations
from typing import Final, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from dislab.datamodules._state_groups import Sampler, StateGroups, Weights, ranks
from dislab.errors import InputError
from dislab.factors import FactorSpace, Indices

Mask = npt.NDArray[np.bool_]

_MOST_SETS: Final = 4096
_PROPOSALS: Final = (1, 2, 8)
"""Numbers of proposals: first for every row, then for rows whose earlier proposals all failed."""
_FIRSTS: Final = 10
"""Number of first images to try for a pair before giving up, if none has a partner."""

_STEPS: Final = 500
"""Number of Laplace steps to try for a pair before giving up, if none leads to a state."""


class Pairs(NamedTuple):
    """Result of an attempt to draw pairs.

    Attributes:
        first: Rows of the first images.
        second: Rows of the second images; -1 if no state is a partner.
    """

    first: Indices
    second: Indices


@runtime_checkable
class Partners(Protocol):
    """Draws first and second images."""

    def attempt(self, generator: np.random.Generator, count: int) -> Pairs:
        """Pairs; one fails only where none of several first images has a partner."""


class GridPartners:
    """Partners by index arithmetic, for states that fill most of a complete grid.

    The number of `factors` (columns) that change is one of `sizes`, all equally likely, and so are
    all new values of these factors. Proposals that are not among the states are rejected; after a
    few rejections all candidates are searched. `positions` has one row per state of the grid, with
    equal rows for equal images.
    """

    def __init__(
        self,
        space: FactorSpace,
        states: Indices,
        positions: Indices,
        factors: list[int],
        sizes: tuple[int, ...],
    ) -> None:
        self._positions = positions
        self._look = positions[states]
        self._factors = factors
        self._changes = np.array(sizes)
        self._row_of = np.full(len(space), -1, dtype=np.int64)
        self._row_of[states] = np.arange(len(states))
        present = present_values(space, states)
        self._sizes = np.array([len(values) for values in present])
        # ranks count only values that occur in some state
        self._ranks = space.positions(states)
        self._offset = np.zeros((len(present), int(self._sizes.max())), dtype=np.int64)
        for column, values in enumerate(present):
            stride = math.prod(space.sizes[column + 1 :])
            self._offset[column, : len(values)] = values * stride
            self._ranks[:, column] = np.searchsorted(values, self._ranks[:, column])

    def attempt(self, generator: np.random.Generator, count: int) -> Pairs:
        """Pairs; one fails only where none of several first images has a partner."""
        changes = self._changes[generator.integers(len(self._changes), size=count)]
        lots = ranks(generator.random((count, len(self._factors))))
        changed = np.zeros((count, len(self._sizes)), dtype=np.bool_)
        changed[:, self._factors] = lots < changes[:, None]
        first = np.zeros(count, dtype=np.int64)
        second = np.full(count, -1, dtype=np.int64)
        for _ in range(_FIRSTS):
            rows = np.flatnonzero(second < 0)
            if not len(rows):
                break
            first[rows] = generator.integers(len(self._ranks), size=len(rows))
            second[rows] = self._seconds(generator, first[rows], changed[rows])
        return Pairs(first, second)

    def _seconds(self, generator: np.random.Generator, first: Indices, changed: Mask) -> Indices:
        second = np.full(len(first), -1, dtype=np.int64)
        for proposals in _PROPOSALS:
            missing = np.flatnonzero(second < 0)
            if len(missing):
                proposed = self._propose(generator, first[missing], changed[missing], proposals)
                second[missing] = proposed
        for row in np.flatnonzero(second < 0):
            second[row] = self._search(generator, int(first[row]), changed[row])
        return second

    def _propose(
        self, generator: np.random.Generator, first: Indices, changed: Mask, proposals: int
    ) -> Indices:
        steps = 1 + (generator.random((proposals, *changed.shape)) * (self._sizes - 1)).astype(int)
        ranks = self._ranks.take(first, axis=0) + steps * changed
        # equals the remainder, which takes several times as long
        ranks -= self._sizes * (ranks >= self._sizes)
        return _first_fitting(self._fitting(ranks, first, changed))

    def _search(self, generator: np.random.Generator, first: int, changed: Mask) -> int:
        axes = [
            np.arange(size) if moves else np.array([rank])
            for size, rank, moves in zip(self._sizes, self._ranks[first], changed, strict=True)
        ]
        candidates = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        fitting = self._fitting(candidates, np.array(first), changed)
        fitting = fitting[fitting >= 0]
        return int(fitting[generator.integers(len(fitting))]) if len(fitting) else -1

    def _fitting(self, ranks: Indices, first: Indices, changed: Mask) -> Indices:
        """Rows of the states with these factor ranks; -1 for states that are not partners."""
        # one factor at a time: several times as fast as a sum over such a short axis
        states = sum(offset.take(ranks[..., column]) for column, offset in enumerate(self._offset))
        differs = self._positions.take(states, axis=0) != self._look.take(first, axis=0)
        return np.where((differs == changed).all(axis=-1), self._row_of.take(states), -1)


class GroupPartners:
    """Partners by sorting the states once for each set of factors, for any states.

    `positions`, `factors` and `sizes` are as in `GridPartners`. `weights` are the weights of the
    states in a draw, equal if None; `firsts` are the rows that may be first images, all if None.
    Rejects too many sets of factors.
    """

    def __init__(
        self,
        positions: Indices,
        factors: list[int],
        sizes: tuple[int, ...],
        weights: Weights | None = None,
        firsts: Indices | None = None,
    ) -> None:
        counts = sorted(set(sizes))
        if sum(math.comb(len(factors), size) for size in counts) > _MOST_SETS:
            raise InputError(
                f"{len(factors)} factors make more than {_MOST_SETS} sets to change, too many to "
                "sort the states for; name fewer factors, or change one at a time"
            )
        sets = [chosen for size in counts for chosen in combinations(factors, size)]
        columns = range(positions.shape[1])
        self._positions = positions
        self._weights = weights
        self._changed = np.array([[column in chosen for column in columns] for chosen in sets])
        shared = [np.flatnonzero(~changed).tolist() for changed in self._changed]
        self._sharing = StateGroups(positions, shared, weights)
        varied = self._sharing.varied
        if firsts is not None:
            varied = varied & np.isin(np.arange(self._sharing.count), firsts)
        which, self._firsts = np.nonzero(varied)
        self._ends = np.append(0, np.cumsum(np.bincount(which, minlength=len(sets))))
        self._sampler = Sampler(
            len(self._firsts), None if weights is None else weights[self._firsts]
        )
        # sets of each size in which some states differ
        usable = np.diff(self._ends) > 0
        lengths = self._changed.sum(axis=1)
        choices = [np.flatnonzero(usable & (lengths == size)) for size in sizes]
        self._choices = [choice for choice in choices if len(choice)]
        self.impossible = [
            chosen for chosen, is_usable in zip(sets, usable, strict=True) if not is_usable
        ]

    def attempt(self, generator: np.random.Generator, count: int) -> Pairs:
        """Pairs; one fails only where none of several first images has a partner."""
        if not self._choices:
            return Pairs(np.zeros(count, dtype=np.int64), np.full(count, -1, dtype=np.int64))
        flat = np.concatenate(self._choices)
        ends = np.append(0, np.cumsum([len(choice) for choice in self._choices]))
        size = generator.integers(len(self._choices), size=count)
        which = flat[generator.integers(ends[size], ends[size + 1])]
        first = np.zeros(count, dtype=np.int64)
        second = np.full(count, -1, dtype=np.int64)
        for _ in range(_FIRSTS):
            rows = np.flatnonzero(second < 0)
            if not len(rows):
                break
            low, high = self._ends[which[rows]], self._ends[which[rows] + 1]
            first[rows] = self._firsts[self._sampler.between(generator, low, high)]
            second[rows] = self._seconds(generator, which[rows], first[rows])
        return Pairs(first, second)

    def _seconds(self, generator: np.random.Generator, which: Indices, first: Indices) -> Indices:
        second = np.full(len(first), -1, dtype=np.int64)
        for proposals in _PROPOSALS:
            missing = np.flatnonzero(second < 0)
            if len(missing):
                some, among = first[missing], which[missing]
                proposed = self._sharing.pick(generator, among, some, proposals)
                second[missing] = _first_fitting(self._fitting(proposed, some, among))
        for row in np.flatnonzero(second < 0):
            second[row] = self._search(generator, int(which[row]), int(first[row]))
        return second

    def _search(self, generator: np.random.Generator, which: int, first: int) -> int:
        members = self._sharing.members(which, first)
        fitting = self._fitting(members, np.array(first), np.array(which))
        fitting = fitting[fitting >= 0]
        if not len(fitting):
            return -1
        weights = None if self._weights is None else self._weights[fitting]
        return int(fitting[Sampler(len(fitting), weights).draw(generator, 1)[0]])

    def _fitting(self, rows: Indices, first: Indices, which: Indices) -> Indices:
        """The given rows, with -1 in place of those that are not partners."""
        differs = self._positions.take(rows, axis=0) != self._positions.take(first, axis=0)
        return np.where((differs == self._changed[which]).all(axis=-1), rows, -1)


class LaplacePartners:
    """Partners whose factors took truncated Laplace steps, for any states.

    A value b of a factor follows a with probability proportional to exp(−rate · |a − b| / log n),
    in positions among the n values that occur. If nothing changed, a random factor moves. Pairs
    that leave the states are drawn again, in proportion to the weights if there are some.
    `positions` has one row per state, with equal rows for equal images; `factors` move.
    """

    def __init__(
        self,
        space: FactorSpace,
        states: Indices,
        positions: Indices,
        factors: list[int],
        rate: float,
        weights: Weights | None = None,
    ) -> None:
        self._space = space
        self._states = states
        self._look = positions
        self._factors = factors
        self._values = [present_values(space, states)[column] for column in factors]
        sizes = np.array([len(values) for values in self._values])
        distance = np.abs(np.subtract.outer(np.arange(sizes.max()), np.arange(sizes.max())))
        within = np.arange(sizes.max()) < sizes[:, None, None]
        # shape (factor, value before, value after)
        steps = np.exp(-rate * distance / np.log(sizes)[:, None, None]) * within
        self._steps, self._moves = steps.cumsum(axis=2), (steps * (distance > 0)).cumsum(axis=2)
        self._sampler = Sampler(len(states), weights)
        self._accepted = None if weights is None else weights / weights.max()

    def attempt(self, generator: np.random.Generator, count: int) -> Pairs:
        """Pairs; one fails only where hundreds of proposals were no states."""
        first = np.zeros(count, dtype=np.int64)
        second = np.full(count, -1, dtype=np.int64)
        for _ in range(_STEPS):
            rows = np.flatnonzero(second < 0)
            if not len(rows):
                break
            first[rows] = self._sampler.draw(generator, len(rows))
            second[rows] = self._seconds(generator, first[rows])
        return Pairs(first, second)

    def _seconds(self, generator: np.random.Generator, first: Indices) -> Indices:
        positions = self._space.positions(self._states[first])
        before = np.stack(
            [
                np.searchsorted(values, positions[:, column])
                for values, column in zip(self._values, self._factors, strict=True)
            ],
            axis=1,
        )
        which = np.arange(len(self._factors))
        after = _chosen(generator, self._steps[which, before])
        still = np.flatnonzero((after == before).all(axis=1))
        moving = generator.integers(len(which), size=len(still))
        after[still, moving] = _chosen(generator, self._moves[moving, before[still, moving]])
        for index, column in enumerate(self._factors):
            positions[:, column] = self._values[index][after[:, index]]
        return self._fitting(generator, self._space.find(positions), first)

    def _fitting(self, generator: np.random.Generator, after: Indices, first: Indices) -> Indices:
        """Rows of the states; -1 for those outside, those that look alike and unlikely ones."""
        rows = np.minimum(np.searchsorted(self._states, after), len(self._states) - 1)
        fits = self._states[rows] == after
        fits &= (self._look[rows] != self._look[first]).any(axis=1)
        if self._accepted is not None:
            fits &= generator.random(len(rows)) < self._accepted[rows]
        return np.where(fits, rows, -1)


def present_values(space: FactorSpace, states: Indices) -> list[Indices]:
    """Value numbers of each factor that occur in the states."""
    return [
        np.flatnonzero(np.bincount(column, minlength=size))
        for column, size in zip(space.positions(states).T, space.sizes, strict=True)
    ]


def _chosen(generator: np.random.Generator, cumulative: npt.NDArray[np.float64]) -> Indices:
    """A value drawn for each cumulative sum of weights along the last axis."""
    heights = generator.random(cumulative.shape[:-1]) * cumulative[..., -1]
    return np.asarray((heights[..., None] >= cumulative).sum(axis=-1), dtype=np.int64)


def _first_fitting(proposals: Indices) -> Indices:
    """The first entry of each column that is not -1; -1 if all are."""
    row = (proposals >= 0).argmax(axis=0)
    first: Indices = proposals[row, np.arange(proposals.shape[1])]
    return first
