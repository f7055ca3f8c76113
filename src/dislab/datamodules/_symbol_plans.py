"""Attributes, named parts of a factor's values such as `posX=low`, and plans of descriptions."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from dislab.datamodules._state_groups import Sampler, Weights, groups, ranks
from dislab.errors import InputError, suggestion
from dislab.factors import Factor, FactorSpace, Indices, Selection
from dislab.functional.checks import check_count
from dislab.plans.index_plans import Drawn

_PARTS: Final = {1: ("any",), 2: ("low", "high"), 3: ("low", "middle", "high")}


class Attributes:
    """The attribute of each value of each factor.

    `described` maps each factor to its attributes, as conditions on its values. If it is None,
    every varying factor except nuisance factors is described: ordinal and circular factors are
    divided into `parts` attributes, categorical ones have one per value. Rejects unknown factors or
    values, overlapping attributes, no attributes, and `parts` below 1.
    """

    def __init__(
        self, space: FactorSpace, described: Mapping[str, Selection | None] | None, parts: int
    ) -> None:
        check_count("parts", parts, 1)
        if described is None:
            described = dict.fromkeys(
                factor.name for factor in space.factors if len(factor) > 1 and not factor.nuisance
            )
        if not described:
            raise InputError("attributes is empty; name at least one factor to describe")
        self.columns = [space.column(name) for name in described]
        self.names: list[str] = []
        self.of_value = np.full((len(described), max(space.sizes)), -1, dtype=np.int64)
        """Attribute number by described factor and value number; -1 for none."""
        for row, (name, conditions) in enumerate(described.items()):
            for label, admitted in _labelled(space[name], conditions, parts):
                values = self.of_value[row, : len(admitted)]
                if (values[admitted] >= 0).any():
                    raise InputError(
                        f"attributes of factor {name} overlap: {label} and another one share "
                        "values; a value has one attribute at most"
                    )
                values[admitted] = len(self.names)
                self.names.append(f"{name}={label}")

    def of(self, positions: Indices) -> Indices:
        """Attributes of states by their value numbers: one column per described factor, or -1."""
        return self.of_value[np.arange(len(self.columns)), positions[:, self.columns]]

    def symbols(self, attributes: Indices) -> npt.NDArray[np.float32]:
        """k-hot vectors, one row per state, of attributes as returned by `of`."""
        symbols = np.zeros((len(attributes), len(self.names) + 1), dtype=np.float32)
        symbols[np.arange(len(attributes))[:, None], attributes] = 1  # -1 is the last column
        return symbols[:, :-1]

    def concepts(self, combinations: Sequence[Sequence[str]]) -> Indices:
        """Combinations of names such as `shape=heart`, one row each, in the columns of `of`.

        Each must name attributes of at least two factors, one per factor.
        """
        owner = {
            attribute: row for row in range(len(self.columns)) for attribute in self.of_value[row]
        }
        concepts = np.full((len(combinations), len(self.columns)), -1, dtype=np.int64)
        for concept, names in zip(concepts, combinations, strict=True):
            for name in names:
                if name not in self.names:
                    hint = suggestion(name, self.names)
                    raise InputError(
                        f"no attribute is named {name!r}{hint}; the attributes are "
                        f"{', '.join(self.names)}"
                    )
                attribute = self.names.index(name)
                concept[owner[attribute]] = attribute
            if len(names) < 2 or (concept >= 0).sum() < len(names):
                raise InputError(
                    f"{list(names)} is no combination; give attributes of two factors or more, "
                    "one of each"
                )
        return concepts


def _labelled(
    factor: Factor, conditions: Selection | None, parts: int
) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
    if conditions:
        for label, condition in conditions.items():
            yield label, factor.allowed(condition)
    elif factor.kind == "categorical":
        for index, value in enumerate(factor.values):
            yield str(value), np.arange(len(factor)) == index
    else:
        parts = min(parts, len(factor))
        part = np.arange(len(factor)) * parts // len(factor)
        for index, label in enumerate(_PARTS.get(parts, map(str, range(1, parts + 1)))):
            yield label, part == index


class DescriptionPlan:
    """Draws images and descriptions of them.

    `of_state` holds the attributes of the states, -1 for none, one column per described factor. The
    number of factors that a description names is one of `specified`, all equally likely; a
    description never names a combination in `held_out`.
    """

    def __init__(
        self,
        states: Indices,
        of_state: Indices,
        attributes: Attributes,
        specified: Sequence[int],
        held_out: Indices,
        weights: Weights | None,
    ) -> None:
        self.states = states
        self.of_state = of_state
        self.attributes = attributes
        self.specified = np.array(specified)
        self.held_out = held_out
        self._described = (of_state >= 0).sum(axis=1)
        self._sampler = Sampler(len(states), weights)

    def draw(
        self, generator: np.random.Generator, count: int, step: int, batches: int = 1
    ) -> Drawn:
        """Draws consecutive batches."""
        examples = count * batches
        row = self._sampler.draw(generator, examples)
        described = self.of_state.take(row, axis=0)
        sizes = self.specified[generator.integers(len(self.specified), size=examples)]
        lots = np.where(described >= 0, generator.random(described.shape), 2.0)
        sizes = np.minimum(sizes, self._described.take(row))
        described = np.where(ranks(lots) < sizes[:, None], described, -1)
        for concept in self.held_out:
            # a description of a held-out combination leaves out one of its attributes
            columns = np.flatnonzero(concept >= 0)
            rows = np.flatnonzero((described[:, columns] == concept[columns]).all(axis=1))
            described[rows, columns[generator.integers(len(columns), size=len(rows))]] = -1
        return Drawn(self.states[row], {"symbol": self.attributes.symbols(described)})


class ConceptPlan:
    """Draws from a fixed small number `examples` of images of each concept.

    The order of `states` determines which examples are used; `of_state`, `specified` and `held_out`
    are as in `DescriptionPlan`. Rejects settings that leave no concept.
    """

    def __init__(
        self,
        states: Indices,
        of_state: Indices,
        attributes: Attributes,
        specified: Sequence[int],
        held_out: Indices,
        examples: int,
    ) -> None:
        self.states = states
        self.attributes = attributes
        rows: list[Indices] = []
        descriptions: list[Indices] = []
        sizes: list[list[int]] = []
        for size in specified:
            lengths = []
            for columns in combinations(range(of_state.shape[1]), size):
                described = np.full_like(of_state, -1)
                described[:, columns] = of_state[:, columns]
                chosen = _first_of_each(described, list(columns), held_out, examples)
                rows.append(chosen)
                descriptions.append(described[chosen])
                lengths.append(len(chosen))
            sizes.append([length for length in lengths if length])
        self._rows, self._named = np.concatenate(rows), np.concatenate(descriptions)
        if not len(self._rows):
            raise InputError(
                f"no concept is left among {len(states)} states; hold out fewer, or describe more"
            )
        nonempty = [lengths for lengths in sizes if lengths]
        self._ends = np.append(0, np.cumsum(np.concatenate(nonempty)))
        self._sets = np.append(0, np.cumsum([len(lengths) for lengths in nonempty]))

    def __len__(self) -> int:
        """Number of examples."""
        return len(self._rows)

    def draw(
        self, generator: np.random.Generator, count: int, step: int, batches: int = 1
    ) -> Drawn:
        """Draws consecutive batches: a description size, a concept of that size, an example."""
        size = generator.integers(len(self._sets) - 1, size=count * batches)
        which = generator.integers(self._sets[size], self._sets[size + 1])
        example = generator.integers(self._ends[which], self._ends[which + 1])
        symbols = self.attributes.symbols(self._named[example])
        return Drawn(self.states[self._rows[example]], {"symbol": symbols})


class HeldOutPlan:
    """Draws images of held-out combinations, each described by its combination.

    Rejects a combination without image.
    """

    def __init__(
        self, states: Indices, of_state: Indices, attributes: Attributes, held_out: Indices
    ) -> None:
        self.states = states
        self.attributes = attributes
        self.held_out = held_out
        self._rows = [
            np.flatnonzero(((concept < 0) | (of_state == concept)).all(axis=1))
            for concept in held_out
        ]
        for concept, rows in zip(held_out, self._rows, strict=True):
            if not len(rows):
                names = ", ".join(
                    attributes.names[attribute] for attribute in concept if attribute >= 0
                )
                raise InputError(
                    f"none of the {len(states)} test states shows the held-out combination "
                    f"{names}; raise test, or hold out another one"
                )

    def draw(
        self, generator: np.random.Generator, count: int, step: int, batches: int = 1
    ) -> Drawn:
        """Draws consecutive batches; all combinations are equally likely."""
        concept = generator.integers(len(self.held_out), size=count * batches)
        ends = np.append(0, np.cumsum([len(rows) for rows in self._rows]))
        row = np.concatenate(self._rows)[generator.integers(ends[concept], ends[concept + 1])]
        symbols = self.attributes.symbols(self.held_out[concept])
        return Drawn(self.states[row], {"symbol": symbols})


def _names_any(described: Indices, concepts: Indices) -> npt.NDArray[np.bool_]:
    """Mask of descriptions (attributes, -1 for none) that name all attributes of a combination."""
    contains = np.zeros(len(described), dtype=np.bool_)
    for concept in concepts:
        contains |= ((concept < 0) | (described == concept)).all(axis=1)
    return contains


def _first_of_each(
    described: Indices, columns: list[int], held_out: Indices, examples: int
) -> Indices:
    """First rows of each description that names all columns and no held-out combination."""
    fitting = np.flatnonzero(
        (described[:, columns] >= 0).all(axis=1) & ~_names_any(described, held_out)
    )
    if not len(fitting):
        return fitting
    group = groups(described[fitting][:, columns])
    order = np.argsort(group, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(group)))
    rank = np.arange(len(order)) - ends[group[order]]
    chosen: Indices = fitting[order[rank < examples]]
    return chosen
