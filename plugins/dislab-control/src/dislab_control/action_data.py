"""States, and what every action makes of them."""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
import numpy.typing as npt
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dislab.base import Dataset, Drawn, PlannedData, Split
from dislab.datamodules import TransitionData
from dislab.factors import Indices


class ActionBatch(NamedTuple):
    """Images, and the images after every action.

    Attributes:
        image: Images before, pixels in [0, 1], shape (batch, channel, height, width).
        after: Images after each action, likewise, shape (batch, action, channel, height, width);
            the same image where the action is blocked.
        factors: Positions before, shape (batch, factor).
        after_factors: Positions after each action, shape (batch, action, factor).
    """

    image: Tensor
    after: Tensor
    factors: Tensor
    after_factors: Tensor

    @property
    def changed(self) -> Bool[Tensor, "batch action factor"]:
        """Which factor each action changed; none where it was blocked."""
        return self.after_factors != self.factors[:, None]


@final
class ActionData(PlannedData):
    """Images and, for each of them, the image after every action.

    An action moves one factor to its next or its previous value, as in `TransitionData`; where that
    is impossible the action is blocked and leaves the state as it is. On `WorldStates` these are
    the moves of the squares, walls included. So an objective can take exact expectations over
    actions, and needs no draws of them.

    Training never shows an image of another split: a move to such a state counts as blocked. With
    the default splits that concerns 6 % of the moves. Validation and test start from states of
    their split, and move to any state. They draw as many examples as they have states, the same
    every time.

    Args:
        dataset: The images and their factors.
        move: Names of the factors that move; all but categorical ones unless given.
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
        """The state after each action, shape (action, state); the state itself where it is blocked.

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
            InputError: No state can move, or in training an action is never possible.
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
            images: Images before, and after each action.
            positions: Value numbers behind the images.
            labels: None.
        """
        return ActionBatch(
            images[0], images[1:].transpose(0, 1), positions[0], positions[1:].transpose(0, 1)
        )


class ActionPlan:
    """Draws of states, each with the state after every action.

    Args:
        states: The states to draw from.
        after: For each action, the state after it of each state.
        weights: Weight of each state in a draw; None where all are equal.
    """

    def __init__(
        self, states: Indices, after: Indices, weights: npt.NDArray[np.float64] | None
    ) -> None:
        self._roles = np.concatenate([states[None], after])
        self._heights = None if weights is None else np.cumsum(weights)

    def draw(
        self, generator: np.random.Generator, count: int, number: int, batches: int = 1
    ) -> Drawn:
        """Some batches of `count` states in a row; `number` makes no difference."""
        size, states = count * batches, self._roles.shape[1]
        if self._heights is None:
            return Drawn(self._roles[:, generator.integers(states, size=size)])
        height = generator.random(size) * self._heights[-1]
        rows = np.searchsorted(self._heights, height, side="right")
        return Drawn(self._roles[:, np.minimum(rows, states - 1)])
