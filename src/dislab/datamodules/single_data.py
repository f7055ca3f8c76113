"""Single images for unsupervised training."""

from typing import ClassVar, final

import numpy as np

from dislab.base import Split
from dislab.datamodules._state_groups import Sampler, Weights
from dislab.factors import Indices
from dislab.plans import Drawn, PlannedData


@final
class SingleData(PlannedData):
    """Single images, drawn at random with replacement.

    The training batch of a step depends only on the run's seed and the step: it is the same for any
    number of workers, is divided among the processes of a distributed run, and continues exactly
    when a run is resumed. The other splits are traversed in order, every state once.

    Its settings are those of `PlannedData`.
    """

    takes_gaps: ClassVar[bool] = True

    def plan(self, split: Split) -> "SinglePlan":
        """The plan that draws the batches of a split."""
        return SinglePlan(self.indices(split), self.weights(split))


class SinglePlan:
    """Draws single states with replacement.

    Args:
        states: The states to draw from.
        weights: Weight of each in a draw; None if all are equal.
    """

    def __init__(self, states: Indices, weights: Weights | None = None) -> None:
        self.states = states
        self._sampler = Sampler(len(states), weights)

    def draw(
        self, generator: np.random.Generator, count: int, step: int, batches: int = 1
    ) -> Drawn:
        """Draws consecutive batches of `count` images; `step` is not used."""
        return Drawn(self.states[self._sampler.draw(generator, count * batches)])
