"""Data module of states with their successors under every action."""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
import numpy.typing as npt
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dislab.base import Dataset, Split
from dislab.datamodules import TransitionData
from dislab.factors import Indices
from dislab.plans import Drawn, PlannedData


class ActionBatch(NamedTuple):
    """Images, and the images after each action.

    Attributes:
        image: Images before the action, pixels in [0, 1], shape (batch, channel, height, width).
        after: Images after each action, pixels in [0, 1], shape (batch, action, channel, height,
            width); the same image if the action is blocked.
        factors: Value numbers before the action, shape (batch, factor).
        after_factors: Value numbers after each action, shape (batch, action, factor).
    """

    image: Tensor
    after: Tensor
    factors: Tensor
    after_factors: Tensor

    @property
    def changed(self) -> Bool[Tensor, "batch action factor"]:
        """Which factor each action changed; none if it was blocked."""
        return self.after_factors != self.factors[:, None]


@final
class ActionData(PlannedData):
    """Images, each with the images after every action.

    An action moves one factor to its next or its previous value, as in `TransitionData`; if that is
    impossible, the action is blocked and leaves the state unchanged. On `WorldStates` these are the
    moves of the squares, blocked by walls too. An objective can therefore compute exact
    expectations over actions, and need not draw them.

    Training never shows an image of another split: moves to such states count as blocked. With the
    default splits these are 6 % of the moves. Validation and test start from states of their split
    and move to any state. They draw as many examples as the split has states, the same every time.

    Args:
        dataset: The images and their factors.
        move: Names of the factors that move; all except categorical ones unless given.
        **settings: Those of `PlannedData`: batches, splits, workers, transforms, correlation.

    Raises:
        InputError: A number is out of range, a split would be empty, or a factor cannot move.
    """

    offers: ClassVar[tuple[str, ...]] = (*PlannedData.offers, "action_names")
    batch_type: ClassVar[type] = ActionBatch

    def __init__(self, dataset: Dataset, move: list[str] | None = None, **settings: Any) -> None:
        super().__init__(dataset, **settings)
        self._transitions = TransitionData(dataset, move, **settings)

    @property
    def action_names(self) -> tuple[str, ...]:
        """One action up and one down for each factor that moves."""
        return self._transitions.action_names

    def following(self, states: Indices) -> npt.NDArray[np.int64]:
        """State after each action, shape (action, state); the same state if it is blocked.

        Args:
            states: State numbers, of any split.

        Raises:
            InputError: No action is ever possible.
        """
        every = self.indices("all")
        after = self._transitions.plan("all").after[:, np.searchsorted(every, states)]
        return np.where(after < 0, states, after)

    def plan(self, split: Split) -> "ActionPlan":
        """The plan that draws the batches of a split.

        Args:
            split: Which part of the selected states.

        Raises:
            InputError: No state can move, or an action is never possible in training.
        """
        states = self.indices(split)
        if split == "train":
            within = self._transitions.plan("train").after
            after = np.where(within < 0, states, within)
        else:
            after = self.following(states)
        return ActionPlan(states, after, self.weights(split))

    def delivered(
        self,
        images: Float[Tensor, "*roles batch channel height width"],
        positions: Int[Tensor, "*roles batch factor"],
        labels: Mapping[str, Tensor],
    ) -> ActionBatch:
        """A batch as the objective receives it.

        Args:
            images: Images before the action, and after each action.
            positions: Value numbers behind the images.
            labels: Empty.
        """
        return ActionBatch(
            images[0], images[1:].transpose(0, 1), positions[0], positions[1:].transpose(0, 1)
        )


class ActionPlan:
    """Draws states, each with its successor under every action.

    Args:
        states: The states to draw from.
        after: Successor of each state, for each action.
        weights: Sampling weight of each state; None if all are equal.
    """

    def __init__(
        self, states: Indices, after: Indices, weights: npt.NDArray[np.float64] | None
    ) -> None:
        self._roles = np.concatenate([states[None], after])
        self._heights = None if weights is None else np.cumsum(weights)

    def draw(
        self, generator: np.random.Generator, count: int, step: int, batches: int = 1
    ) -> Drawn:
        """Draws consecutive batches of `count` states; `step` is not used."""
        size, states = count * batches, self._roles.shape[1]
        if self._heights is None:
            return Drawn(self._roles[:, generator.integers(states, size=size)])
        height = generator.random(size) * self._heights[-1]
        rows = np.searchsorted(self._heights, height, side="right")
        return Drawn(self._roles[:, np.minimum(rows, states - 1)])
