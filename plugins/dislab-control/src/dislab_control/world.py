"""Base class of the worlds: start, step and render as functions of factor values."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import Space

from dislab.factors.factor import Factor, Kind
from dislab.naming.settings import checks_settings

States = npt.NDArray[np.float64]
"""Values of the factors, one row per copy of the world, one column per factor."""

Frames = npt.NDArray[np.uint8]
"""Images, shape (copies, height, width, channels)."""

Seen = npt.NDArray[np.float32]
"""True factors of visible objects, shape (copies, numbers)."""


class Trait(NamedTuple):
    """One factor of a world.

    Attributes:
        name: Name of the factor.
        kind: Kind of the factor, which defines how its values relate.
        unit: Unit of the values; empty for dimensionless ones.
        values: Possible values of a discrete factor; a categorical factor has names as values, and
            the number of the name in a state.
        period: Period of a circular factor, in its unit.
    """

    name: str
    kind: Kind = "continuous"
    unit: str = ""
    values: tuple[float, ...] | tuple[str, ...] = ()
    period: float | None = None

    def factor(self, seen: npt.NDArray[np.float64]) -> tuple[Factor, npt.NDArray[np.int64]]:
        """Converts the trait to a factor of a data set, and the value number of each image.

        Args:
            seen: Values of the factor, one per image.
        """
        if self.values:
            factor = Factor(self.name, self.values, self.kind, self.unit, self.period)
            return factor, np.abs(factor.numbers - seen[:, None]).argmin(axis=1)
        numbers, position = np.unique(seen, return_inverse=True)
        factor = Factor(self.name, tuple(numbers.tolist()), self.kind, self.unit, self.period)
        return factor, position.astype(np.int64)


class Step(NamedTuple):
    """Outcome of one step.

    Attributes:
        states: States after the step.
        rewards: Reward of each copy.
        ended: Whether the task of each copy is done.
    """

    states: States
    rewards: npt.NDArray[np.float64]
    ended: npt.NDArray[np.bool_]


class World(ABC):
    """Rules and renderer of a world, for any number of copies at once.

    A world stores only settings: the values of the factors are the complete state, so that the same
    functions serve a single environment, a batch of environments and a data set.
    """

    length: int
    """Number of steps per episode."""

    domains: ClassVar[tuple[str, ...]] = ()
    """Values of the setting `domain`, starting with the training domain; empty without a task."""

    def __init_subclass__(cls) -> None:
        """Makes every constructor refuse settings of the wrong type."""
        super().__init_subclass__()
        checks_settings(cls)

    @property
    @abstractmethod
    def traits(self) -> tuple[Trait, ...]:
        """The factors, which determine images and outcomes of steps."""

    @property
    @abstractmethod
    def actions(self) -> Space[Any]:
        """The actions of one copy."""

    @property
    @abstractmethod
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width and channels."""

    @property
    @abstractmethod
    def settings(self) -> dict[str, str]:
        """Name, renderer version and settings, for the records of a data set."""

    @abstractmethod
    def start(self, draws: np.random.Generator) -> States:
        """Draws the state of one copy at the start of an episode, shape (1, factors).

        Args:
            draws: Random numbers of the copy.
        """

    @abstractmethod
    def step(
        self, states: States, actions: npt.NDArray[Any], draws: Sequence[np.random.Generator]
    ) -> Step:
        """Steps every copy; the given states are not modified.

        Args:
            states: Values of the factors.
            actions: One action per copy.
            draws: Random numbers, one generator per copy.
        """

    @abstractmethod
    def draw(self, states: States) -> Frames:
        """Renders images of states; an image does not depend on others rendered with it.

        Args:
            states: Values of the factors.
        """

    def seen(self, states: States) -> Seen:
        """True factors of visible objects, relative to the agent and scaled to about 1.

        The default is the values of all factors.

        Args:
            states: Values of the factors.
        """
        return states.astype(np.float32)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the factors, in the order of the columns of a state."""
        return tuple(trait.name for trait in self.traits)
