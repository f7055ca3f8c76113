"""Consecutive states: one factor moves by one step."""

from collections.abc import Mapping
from typing import Any, ClassVar, final

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Dataset, Split, TransitionBatch
from dislab.datamodules._state_groups import Sampler, Weights
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace, Indices
from dislab.functional.checks import naming
from dislab.plans import Drawn, PlannedData


@final
class TransitionData(PlannedData):
    """Images before and after one factor moves to its next or its previous value.

    An action is drawn first, all equally likely, then a state in which it is possible. Circular
    factors wrap around; if their last value gives the same image as the first, it is skipped. Both
    states belong to the same split. Validation and test draw as many transitions as they have
    states, the same every time.

    Args:
        dataset: The images and their factors.
        move: Names of the factors that move; all except categorical ones unless given. A
            categorical factor moves through its values in their order.
        **settings: Those of `PlannedData`: batches, splits, workers, transforms, correlation.

    Raises:
        InputError: A number is out of range, a split would be empty, or a factor cannot move.
    """

    offers: ClassVar[tuple[str, ...]] = (*PlannedData.offers, "action_names")
    batch_type: ClassVar[type] = TransitionBatch

    def __init__(
        self,
        dataset: Dataset,
        move: list[str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(dataset, **settings)
        kinds = {
            factor.name: factor.kind
            for factor in self.factors.factors
            if len(factor) > 1 and not factor.nuisance
        }
        ordered = [name for name, kind in kinds.items() if kind != "categorical"]
        self.move = ordered if move is None else move
        with naming("move"):
            for name in self.move:
                self.factors.column(name)
        if not self.move or len(set(self.move)) < len(self.move) or set(self.move) - set(kinds):
            raise InputError(
                f"move names factors of at least two values, each once, not {self.move}; those "
                f"with an order are {', '.join(ordered) or 'none'}"
            )

    @property
    def action_names(self) -> tuple[str, ...]:
        """One action up and one down for each factor that moves."""
        return tuple(f"{name}{sign}" for name in self.move for sign in "+-")

    def plan(self, split: Split) -> "TransitionPlan":
        """The plan that draws the batches of a split.

        Raises:
            InputError: No action is possible in the split, or one is never possible in training.
        """
        states = self.indices(split)
        columns = [self.factors.column(name) for name in self.move]
        after = np.concatenate(
            [steps(self.factors, states, column, way) for column in columns for way in (1, -1)]
        ).reshape(-1, len(states))
        idle = [name for name, row in zip(self.action_names, after, strict=True) if (row < 0).all()]
        if len(idle) == len(after) or (idle and split == "train"):
            raise InputError(
                f"none of the {len(states)} states of the {split} split can move by "
                f"{', '.join(idle)}; enlarge the split (0 goes "
                "without), or name other factors to move"
            )
        changed = np.zeros((len(after), len(self.factors.names)), dtype=np.bool_)
        changed[np.arange(len(after)), np.repeat(columns, 2)] = True
        return TransitionPlan(states, after, changed, self.weights(split))

    def delivered(
        self,
        images: Float[Tensor, "*roles batch channel height width"],
        positions: Int[Tensor, "*roles batch factor"],
        labels: Mapping[str, Tensor],
    ) -> TransitionBatch:
        """A batch as the objective receives it.

        Args:
            images: Images before and after.
            positions: Value numbers behind the images.
            labels: Which factor `changed`, and by which `action`.
        """
        return TransitionBatch(
            images[0], images[1], positions[0], positions[1], labels["changed"], labels["action"]
        )


class TransitionPlan:
    """Draws states, actions, and the resulting states.

    Args:
        states: The states to draw from.
        after: For each action, the resulting state of each state; -1 if the action is impossible.
        changed: For each action, the factor that it moves.
        weights: Weight of each state in a draw; None if all are equal.
    """

    def __init__(
        self, states: Indices, after: Indices, changed: np.ndarray, weights: Weights | None
    ) -> None:
        self.states = states
        self.after = after
        self.changed = changed
        which, self._row = np.nonzero(after >= 0)
        self._ends = np.append(0, np.cumsum(np.bincount(which, minlength=len(after))))
        self._possible = np.unique(which)
        self._sampler = Sampler(len(which), None if weights is None else weights[self._row])

    def draw(
        self, generator: np.random.Generator, count: int, step: int, batches: int = 1
    ) -> Drawn:
        """Draws consecutive batches of `count` transitions; `step` is not used."""
        action = self._possible[generator.integers(len(self._possible), size=count * batches)]
        low, high = self._ends[action], self._ends[action + 1]
        row = self._row[self._sampler.between(generator, low, high)]
        states = np.stack([self.states[row], self.after[action, row]])
        return Drawn(states, {"changed": self.changed[action], "action": action})


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
