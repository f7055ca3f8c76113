"""Index plans of images with descriptions."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dislab.base.planned.plans import Drawn
from dislab.datamodules._attributes import Attributes
from dislab.datamodules._runs import Lottery, Weights, groups, places
from dislab.errors import InputError
from dislab.factors import Indices


class DescriptionPlan:
    """Images, and descriptions that are drawn for them.

    Args:
        states: The states to draw from.
        of_state: Attributes of the states, -1 for none, one column a factor described.
        attributes: Turns attributes into symbols.
        specified: Numbers of factors that a description names, each as likely.
        held_out: Combinations that no description names.
        weights: Weight of each state in a draw; None where all are equal.
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
        self._lottery = Lottery(len(states), weights)

    def draw(
        self, generator: np.random.Generator, count: int, number: int, batches: int = 1
    ) -> Drawn:
        """Some batches, one behind the other.

        Args:
            generator: Source of every random number.
            count: Images in a batch.
            number: Which batch is the first; makes no difference.
            batches: Number of batches.
        """
        examples = count * batches
        row = self._lottery.draw(generator, examples)
        named = self.of_state.take(row, axis=0)
        wanted = self.specified[generator.integers(len(self.specified), size=examples)]
        lots = np.where(named >= 0, generator.random(named.shape), 2.0)
        wanted = np.minimum(wanted, self._described.take(row))
        named = np.where(places(lots) < wanted[:, None], named, -1)
        for concept in self.held_out:
            # a description of a held-out combination leaves out one of its attributes
            columns = np.flatnonzero(concept >= 0)
            rows = np.flatnonzero((named[:, columns] == concept[columns]).all(axis=1))
            named[rows, columns[generator.integers(len(columns), size=len(rows))]] = -1
        return Drawn(self.states[row], {"symbol": self.attributes.symbols(named)})


class ConceptPlan:
    """Few images of each concept, the same in every batch.

    Args:
        states: The states to choose examples from, in an order that decides which are taken.
        of_state: Attributes of the states, -1 for none, one column a factor described.
        attributes: Turns attributes into symbols.
        specified: Numbers of factors that a description names, each as likely.
        held_out: Combinations that no description names.
        examples: Images of each concept.

    Raises:
        InputError: No concept is left.
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
        named: list[Indices] = []
        sizes: list[list[int]] = []
        for size in specified:
            lengths = []
            for columns in combinations(range(of_state.shape[1]), size):
                described = np.full_like(of_state, -1)
                described[:, columns] = of_state[:, columns]
                chosen = _first_of_each(described, list(columns), held_out, examples)
                rows.append(chosen)
                named.append(described[chosen])
                lengths.append(len(chosen))
            sizes.append([length for length in lengths if length])
        self._rows, self._named = np.concatenate(rows), np.concatenate(named)
        if not len(self._rows):
            raise InputError(
                f"no concept is left among {len(states)} states; hold out fewer, or describe more"
            )
        kept = [lengths for lengths in sizes if lengths]
        self._ends = np.append(0, np.cumsum(np.concatenate(kept)))
        self._sets = np.append(0, np.cumsum([len(lengths) for lengths in kept]))

    def __len__(self) -> int:
        """Number of examples."""
        return len(self._rows)

    def draw(
        self, generator: np.random.Generator, count: int, number: int, batches: int = 1
    ) -> Drawn:
        """Some batches: how many factors are named, which, and one of the examples that name them.

        Args:
            generator: Source of every random number.
            count: Images in a batch.
            number: Which batch is the first; makes no difference.
            batches: Number of batches.
        """
        size = generator.integers(len(self._sets) - 1, size=count * batches)
        which = generator.integers(self._sets[size], self._sets[size + 1])
        place = generator.integers(self._ends[which], self._ends[which + 1])
        symbols = self.attributes.symbols(self._named[place])
        return Drawn(self.states[self._rows[place]], {"symbol": symbols})


class HeldOutPlan:
    """Images of held-out combinations, described by exactly these.

    Args:
        states: The states to draw from.
        of_state: Attributes of the states, -1 for none, one column a factor described.
        attributes: Turns attributes into symbols.
        held_out: The combinations.

    Raises:
        InputError: A combination has no image.
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
                names = ", ".join(attributes.names[one] for one in concept if one >= 0)
                raise InputError(
                    f"none of the {len(states)} test states shows the held-out combination "
                    f"{names}; raise test, or hold out another one"
                )

    def draw(
        self, generator: np.random.Generator, count: int, number: int, batches: int = 1
    ) -> Drawn:
        """Some batches; the combinations are as likely as each other.

        Args:
            generator: Source of every random number.
            count: Images in a batch.
            number: Which batch is the first; makes no difference.
            batches: Number of batches.
        """
        concept = generator.integers(len(self.held_out), size=count * batches)
        ends = np.append(0, np.cumsum([len(rows) for rows in self._rows]))
        row = np.concatenate(self._rows)[generator.integers(ends[concept], ends[concept + 1])]
        symbols = self.attributes.symbols(self.held_out[concept])
        return Drawn(self.states[row], {"symbol": symbols})


def names_any(named: Indices, concepts: Indices) -> npt.NDArray[np.bool_]:
    """Which descriptions name all attributes of some combination.

    Args:
        named: Attributes, -1 for none, one row a description.
        concepts: Combinations, one row each.
    """
    contains = np.zeros(len(named), dtype=np.bool_)
    for concept in concepts:
        contains |= ((concept < 0) | (named == concept)).all(axis=1)
    return contains


def _first_of_each(
    described: Indices, columns: list[int], held_out: Indices, examples: int
) -> Indices:
    """The first rows of each description that names all the columns and nothing held out."""
    fitting = np.flatnonzero(
        (described[:, columns] >= 0).all(axis=1) & ~names_any(described, held_out)
    )
    if not len(fitting):
        return fitting
    group = groups(described[fitting][:, columns])
    order = np.argsort(group, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(group)))
    place = np.arange(len(order)) - ends[group[order]]
    chosen: Indices = fitting[order[place < examples]]
    return chosen
