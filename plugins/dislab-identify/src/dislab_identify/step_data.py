"""Pairs of successive points of a drawn world."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple, final, get_args

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Dataset, Split
from dislab.errors import InputError
from dislab.factors import Indices
from dislab.functional.checks import check_above, check_choice
from dislab.plans import Drawn, PlannedData
from dislab_identify.drawn_world import DrawnWorld, generalised_normal, independent_draws
from dislab_identify.mixings import Array

Steps = Literal["laplace", "gaussian", "generalised_normal", "ornstein_uhlenbeck", "autoregressive"]

_BOX = 3**0.5
"""Half the width of a uniform prior of unit variance."""
_MOST = 1000


class StepBatch(NamedTuple):
    """Vectors and their successors.

    Attributes:
        image: First vectors, shape (batch, feature, 1, 1).
        second: Their successors, likewise.
        factors: Positions of the first vectors, shape (batch, factor).
    """

    image: Tensor
    second: Tensor
    factors: Tensor


@final
class StepData(PlannedData):
    """Points of a drawn world, each with a successor whose sources took a random step.

    Every batch draws new successors. The steps of a source are independent of the others. In a
    world of uniform sources, steps that leave the box are drawn again.

    Args:
        dataset: A `DrawnWorld` of one segment.
        steps: Distribution of the steps: `laplace` (Klindt et al. 2021), `gaussian` or
            `generalised_normal` (Zimmermann et al. 2021), or `ornstein_uhlenbeck`, which keeps a
            Gaussian prior: z' = persistence · z + √(1 − persistence²) · noise. `autoregressive` is
            the same with noise distributed like the sources of any prior, of which it keeps mean
            and variance (the code of Klindt et al. 2026, https://arxiv.org/abs/2605.26379).
        spread: Standard deviation of a step; not for the last two.
        shape: Exponent of the generalised normal distribution of steps.
        persistence: Correlation of z and z' of the last two.
        **settings: Those of `PlannedData`.

    Raises:
        InputError: The data set is no drawn world or has several segments, a number is out of
            range, or the steps do not keep the prior.
    """

    batch_type: ClassVar[type] = StepBatch

    def __init__(
        self,
        dataset: Dataset,
        steps: Steps = "laplace",
        spread: float = 0.25,
        shape: float = 2.0,
        persistence: float = 0.95,
        **settings: Any,
    ) -> None:
        super().__init__(dataset, **settings)
        check_choice("steps", steps, get_args(Steps))
        check_above("spread", spread, 0)
        check_above("shape", shape, 0)
        if not isinstance(dataset, DrawnWorld):
            raise InputError(
                f"StepData takes steps in a DrawnWorld, not in {type(dataset).__name__}; use "
                "TransitionData or PairedData for images with factors"
            )
        if dataset.segments > 1:
            raise InputError(
                f"the world has {dataset.segments} segments, and steps need a single prior; set "
                "segments to 1"
            )
        if not -1 < persistence < 1:
            raise InputError(f"persistence is {persistence}; it must be between -1 and 1")
        if steps == "ornstein_uhlenbeck" and dataset.prior != "gaussian":
            raise InputError(
                f"steps {steps} keep a Gaussian prior, and the sources are {dataset.prior}; set "
                "prior to gaussian, or choose other steps"
            )
        self.steps: Steps = steps
        self.spread = spread
        self.shape = shape
        self.persistence = persistence

    def plan(self, split: Split) -> "StepPlan":
        """The plan that draws the batches of a split."""
        if not isinstance(self.dataset, DrawnWorld):
            raise InputError("the data set was replaced; it must be a DrawnWorld")
        return StepPlan(
            self.dataset,
            self.indices(split),
            self.steps,
            self.spread,
            self.shape,
            self.persistence,
        )

    def delivered(
        self,
        images: Float[Tensor, "*roles batch channel height width"],
        positions: Int[Tensor, "*roles batch factor"],
        labels: Mapping[str, Tensor],
    ) -> StepBatch:
        """A batch as the objective receives it.

        Args:
            images: First vectors.
            positions: Value numbers behind them.
            labels: The successors, as `second`.
        """
        return StepBatch(images, labels["second"][:, :, None, None].to(images.dtype), positions)


class StepPlan:
    """Draws points and their successors.

    Args:
        world: The world.
        states: The points to draw from.
        steps: Distribution of the steps.
        spread: Standard deviation of a step.
        shape: Exponent of generalised normal steps.
        persistence: Correlation of successive sources in an Ornstein–Uhlenbeck step.
    """

    def __init__(
        self,
        world: DrawnWorld,
        states: Indices,
        steps: Steps,
        spread: float,
        shape: float,
        persistence: float,
    ) -> None:
        self.world = world
        self.states = states
        self._steps: Steps = steps
        self._spread = spread
        self._shape = shape
        self._persistence = persistence

    def draw(
        self, generator: np.random.Generator, count: int, step: int, batches: int = 1
    ) -> Drawn:
        """Draws consecutive batches of `count` pairs; `step` is not used."""
        states = self.states[generator.integers(len(self.states), size=count * batches)]
        # the generator of a batch has few methods; a seed from it opens all of NumPy's
        numbers = np.random.default_rng(int(generator.integers(2**31)))
        moved = self.moved(self.world.latents[states], numbers)
        second = self.world.mixture.mix(moved).astype(np.float32)
        return Drawn(states, {"second": second})

    def moved(self, latents: Array, generator: np.random.Generator) -> Array:
        """The sources after a step.

        Args:
            latents: The sources before, shape (row, source).
            generator: Source of the random numbers.

        Raises:
            InputError: Steps are so wide that they hardly ever end in the box.
        """
        if self._steps in ("ornstein_uhlenbeck", "autoregressive"):
            rows, sources = latents.shape
            noise = independent_draws(
                self.world.prior, self.world.shape, (rows, sources), generator
            )
            return self._persistence * latents + math.sqrt(1 - self._persistence**2) * noise
        moved = latents + self._random_steps(latents.shape, generator)
        if self.world.prior != "uniform":
            return moved
        for _ in range(_MOST):
            outside = np.abs(moved) > _BOX
            if not outside.any():
                return moved
            again = latents[outside][:, None]
            moved[outside] = (again + self._random_steps(again.shape, generator))[:, 0]
        raise InputError(f"spread {self._spread} is too wide for the box of the sources; lower it")

    def _random_steps(self, size: tuple[int, ...], generator: np.random.Generator) -> Array:
        if self._steps == "laplace":
            steps: Array = generator.laplace(0.0, self._spread * 0.5**0.5, size)
        elif self._steps == "gaussian":
            steps = generator.normal(0.0, self._spread, size)
        else:
            steps = self._spread * generalised_normal(self._shape, (size[0], size[1]), generator)
        return steps
