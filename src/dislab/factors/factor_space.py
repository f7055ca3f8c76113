"""The states of a data set: combinations of factor values, numbered; selections of states."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypedDict, cast

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError, suggestion
from dislab.factors.factor import Factor, check_factor_names

Selection = Mapping[
    str, int | float | str | Sequence[int | float | str] | Mapping[str, int | float]
]
"""A predicate over factors: for each named factor one value, a list of values, or a range
`{min: …, max: …}` in the factor's unit, ends included. All named factors must agree; the empty
selection matches every state."""


class Correlation(TypedDict):
    """Factors that are drawn with a correlation instead of independently.

    Attributes:
        factors: Names of two or more factors; the first is correlated with each of the others.
        strength: Standard deviation of the band around the diagonal of each pair, as a fraction of
            a factor's range; a smaller value is a stronger correlation.
    """

    factors: list[str]
    strength: float


Correlations = Correlation | Sequence[Correlation]
"""One correlation, or several that hold at once."""


Indices = npt.NDArray[np.int64]

UNLABELLED: Final = "image"
"""Name of the single factor of images without factors; its value is the image number."""

MISSING: Final = -1
"""Value number of a factor in the states whose value is not given."""


@dataclass(frozen=True, eq=False)
class FactorSpace:
    """The states of a data set: all combinations of its factors' values, or a table of some.

    States of a complete grid are numbered in row-major order, the last factor fastest; it needs no
    table.

    A table may have gaps: states with the position -1 in a column have no value of that factor.
    Nothing that needs all values, such as a score, may use them; no selection of the factor matches
    them.

    Args:
        factors: The factors in their published order.
        table: Positions of the existing states, shape (states, factors), if not all combinations
            exist, or if values are missing.

    Raises:
        InputError: There is no factor, or two share a name; the table is empty, or has a wrong
            shape, a value number out of range or a repeated row; or no table is given, and the grid
            has more combinations than 64 bits can count.
    """

    factors: tuple[Factor, ...]
    table: npt.NDArray[np.integer[Any]] | None = None

    def __post_init__(self) -> None:
        """Checks names and table."""
        if not self.factors:
            raise InputError("factors is empty; give at least one factor")
        for factor in cast("tuple[Any, ...]", self.factors):
            if not isinstance(factor, Factor):
                raise InputError(
                    f"factors holds {factor!r}; it holds Factor objects, such as "
                    'Factor("size", (0, 1, 2))'
                )
        check_factor_names(self.names, len(self.factors))
        if self.table is None:
            if not self._countable:
                raise InputError(
                    f"{self.sizes} values make more combinations than 64 bits can count; give the "
                    "table of those that exist"
                )
            return
        if self.table.ndim != 2 or self.table.shape[1] != len(self.factors):
            raise InputError(
                f"the table of positions has shape {self.table.shape}; it needs one row a state "
                f"and {len(self.factors)} columns"
            )
        if not len(self.table):
            raise InputError("the table of positions holds no state; it needs at least one")
        if (self.table < MISSING).any() or (self.table >= self.sizes).any():
            raise InputError("the table of positions holds a value number out of range")
        if len(np.unique(self._keys(self.table))) < len(self.table):
            raise InputError("the table of positions repeats a state")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the factors."""
        return tuple(factor.name for factor in self.factors)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each factor."""
        return tuple(len(factor) for factor in self.factors)

    @cached_property
    def incomplete(self) -> tuple[str, ...]:
        """Names of the factors of which some states have no value."""
        if self.table is None:
            return ()
        lacking = (self.table == MISSING).any(0)
        return tuple(name for name, lacks in zip(self.names, lacking, strict=True) if lacks)

    def complete(self, index: Indices) -> Indices:
        """The state numbers, of those given, that have a value of every factor."""
        if not self.incomplete:
            return index
        complete: npt.NDArray[np.bool_] = (self.positions(index) != MISSING).all(-1)
        return index[complete]

    @property
    def essential(self) -> tuple[int, ...]:
        """Columns of the factors that are not nuisance factors."""
        return tuple(column for column, factor in enumerate(self.factors) if not factor.nuisance)

    @property
    def essential_names(self) -> tuple[str, ...]:
        """Names of the factors that are not nuisance factors."""
        return tuple(factor.name for factor in self.factors if not factor.nuisance)

    def without_nuisance(self) -> "FactorSpace":
        """The space without nuisance factors, with the existing combinations of values.

        Raises:
            InputError: All factors are nuisance factors.
        """
        essential = list(self.essential)
        if len(essential) == len(self.factors):
            return self
        factors = tuple(self.factors[column] for column in essential)
        table = self.table
        return FactorSpace(
            factors, None if table is None else np.unique(table[:, essential], axis=0)
        )

    def __repr__(self) -> str:
        """The factors with their numbers of values, and the number of states."""
        factors = ", ".join(f"{factor.name} {len(factor)}" for factor in self.factors)
        return f"FactorSpace({factors}; {self._count:,} states)"

    def __len__(self) -> int:
        """Number of states."""
        return self._count

    def __getitem__(self, name: str) -> Factor:
        """The factor of that name.

        Raises:
            InputError: No factor has that name; the message lists the names.
        """
        return self.factors[self.column(name)]

    def column(self, name: str) -> int:
        """Column of a factor in a position.

        Raises:
            InputError: No factor has that name; the message lists the names.
        """
        if name not in self.names:
            hint = suggestion(name, self.names)
            raise InputError(
                f"no factor is named {name!r}{hint}; the factors are {', '.join(self.names)}"
            )
        return self.names.index(name)

    def positions(self, index: "npt.ArrayLike") -> Indices:
        """Positions of state numbers of any shape, shape (*index, factors); -1 for no value.

        Raises:
            InputError: A number is not a state number.
        """
        index = np.asarray(index, dtype=np.int64)
        # as an unsigned integer, a negative number is larger than any state number
        if index.size and index.view(np.uint64).max() >= self._count:
            wrong = index[index.view(np.uint64) >= self._count].flat[0]
            raise InputError(f"no state has the number {wrong}; they run from 0 to {len(self) - 1}")
        if self.table is not None:
            return np.asarray(self.table[index], dtype=np.int64)
        positions = np.empty((*index.shape, len(self.factors)), dtype=np.int64)
        for column in reversed(range(len(self.factors))):
            # dividing by a scalar is several times as fast as by an array
            quotient = index // self.sizes[column]
            positions[..., column] = index - quotient * self.sizes[column]
            index = quotient
        return positions

    def index(self, positions: "npt.ArrayLike") -> Indices:
        """State numbers of positions, shape of `positions` without its last axis.

        Args:
            positions: Value numbers, one column per factor; -1 for no value, if some are missing.

        Raises:
            InputError: A position is out of range or not in the table.
        """
        positions = np.asarray(positions, dtype=np.int64)
        if positions.shape[-1:] != (len(self.factors),):
            raise InputError(
                f"a position has {len(self.factors)} value numbers; got shape {positions.shape}"
            )
        if (positions < (MISSING if self.incomplete else 0)).any() or (
            positions >= self.sizes
        ).any():
            raise InputError(f"value numbers must lie below {self.sizes}")
        states = self.find(positions)
        if (states < 0).any():
            raise InputError("this combination of factor values is not in the data set")
        return states

    def find(self, positions: "npt.ArrayLike") -> Indices:
        """State numbers of value numbers in range; -1 for positions that are not in the table."""
        queries = self._keys(np.asarray(positions, dtype=np.int64))
        if self.table is None:
            return np.asarray(queries, dtype=np.int64)
        order, keys = self._lookup
        rows = np.minimum(np.searchsorted(keys, queries), len(keys) - 1)
        return np.where(keys[rows] == queries, order[rows], -1)

    def values(self, positions: "npt.ArrayLike") -> npt.NDArray[np.float64]:
        """Values in their units, shape of `positions`; categorical ones as value numbers.

        No value is NaN.
        """
        return self._looked_up([factor.numbers for factor in self.factors], positions)

    def places(self, positions: "npt.ArrayLike") -> npt.NDArray[np.float64]:
        """Values scaled from 0, a factor's first value, to 1, its last one; see `Factor.places`.

        No value is NaN.
        """
        return self._looked_up([factor.places for factor in self.factors], positions)

    def where(self, selection: Selection) -> Indices:
        """Numbers of the states that a selection matches, ascending.

        Args:
            selection: A predicate over factors; the empty one matches every state.

        Raises:
            InputError: A factor or value does not exist, or nothing matches.
        """
        # for a complete grid, an array with one axis per factor, without a table of positions
        matches = np.ones(len(self) if self.table is not None else self.sizes, dtype=np.bool_)
        for name, condition in selection.items():
            column = self.column(name)
            allowed = self.factors[column].allowed(condition)
            if self.table is not None:
                numbers = self.table[:, column]
                matches &= allowed[numbers] & (numbers != MISSING)
            else:
                others = tuple(axis for axis in range(len(self.sizes)) if axis != column)
                matches &= np.expand_dims(allowed, others)
        if not matches.any():
            raise InputError(
                f"the selection {dict(selection)!r} matches no state: each condition is met by "
                "some, but never all by one"
            )
        return np.flatnonzero(matches)

    def _looked_up(
        self, numbers: Sequence[npt.NDArray[np.float64]], positions: npt.ArrayLike
    ) -> npt.NDArray[np.float64]:
        """The number of each factor's value, NaN for no value."""
        positions = np.asarray(positions, dtype=np.int64)
        values = np.stack(
            [factor[positions[..., column]] for column, factor in enumerate(numbers)], axis=-1
        )
        if self.incomplete:
            values[positions == MISSING] = np.nan
        return values

    @cached_property
    def _count(self) -> int:
        return math.prod(self.sizes) if self.table is None else len(self.table)

    @property
    def _countable(self) -> bool:
        return math.prod(self.sizes) < 2**63

    def _keys(self, positions: npt.NDArray[np.integer[Any]]) -> npt.NDArray[Any]:
        """A sortable key for each position: its number in the complete grid, if 64 bits suffice.

        With gaps the grid has a further value of each factor.
        """
        sizes = self.sizes
        if self.incomplete:
            positions, sizes = positions + 1, tuple(size + 1 for size in sizes)
        if math.prod(sizes) < 2**63:
            columns = tuple(np.moveaxis(positions, -1, 0))
            return np.asarray(np.ravel_multi_index(columns, sizes), dtype=np.int64)
        rows = np.ascontiguousarray(positions, dtype=np.int64)
        return rows.view([(name, np.int64) for name in self.names])[..., 0]

    @cached_property
    def _lookup(self) -> tuple[Indices, npt.NDArray[Any]]:
        assert self.table is not None
        keys = self._keys(self.table)
        order = np.argsort(keys)
        return order, keys[order]
