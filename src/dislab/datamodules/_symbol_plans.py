"""Index plans for images with descriptions."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dislab.base.planned.plans import Drawn
from dislab.datamodules._attributes import Attributes
from dislab.datamodules._state_groups import Sampler, Weights, groups, ranks
from dislab.errors import InputError
from dislab.factors import Indices


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
        self, generator: np.random.Generator, count: int, number: int, batches: int = 1
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
        self, generator: np.random.Generator, count: int, number: int, batches: int = 1
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
        self, generator: np.random.Generator, count: int, number: int, batches: int = 1
    ) -> Drawn:
        """Draws consecutive batches; all combinations are equally likely."""
        concept = generator.integers(len(self.held_out), size=count * batches)
        ends = np.append(0, np.cumsum([len(rows) for rows in self._rows]))
        row = np.concatenate(self._rows)[generator.integers(ends[concept], ends[concept + 1])]
        symbols = self.attributes.symbols(self.held_out[concept])
        return Drawn(self.states[row], {"symbol": symbols})


def names_any(described: Indices, concepts: Indices) -> npt.NDArray[np.bool_]:
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
        (described[:, columns] >= 0).all(axis=1) & ~names_any(described, held_out)
    )
    if not len(fitting):
        return fitting
    group = groups(described[fitting][:, columns])
    order = np.argsort(group, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(group)))
    rank = np.arange(len(order)) - ends[group[order]]
    chosen: Indices = fitting[order[rank < examples]]
    return chosen
