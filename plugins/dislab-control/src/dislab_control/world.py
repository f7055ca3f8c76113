"""Contract of the worlds: start, step and draw, each a function of the values of the factors."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import Space

from dislab.factors.factor import Factor, Kind
from dislab.functional.settings import checks_settings

States = npt.NDArray[np.float64]
"""Values of the factors, one row a copy of the world, one column a factor."""

Frames = npt.NDArray[np.uint8]
"""Images, shape (copies, height, width, channels)."""

Seen = npt.NDArray[np.float32]
"""True factors of what is in the image, shape (copies, numbers)."""


class Trait(NamedTuple):
    """One factor of a world.

    Attributes:
        name: Its name.
        kind: How its values relate.
        unit: Unit of its values; empty for plain numbers.
        values: The values that it can take, if they are few; a categorical factor has names, and
            its state is the number of the name.
        period: After how much a factor returns to itself, in its unit.
    """

    name: str
    kind: Kind = "continuous"
    unit: str = ""
    values: tuple[float, ...] | tuple[str, ...] = ()
    period: float | None = None

    def factor(self, seen: npt.NDArray[np.float64]) -> tuple[Factor, npt.NDArray[np.int64]]:
        """The factor of a data set, and the value number of each of its images.

        Args:
            seen: Values of the factor, one an image.
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
        states: The states after it.
        rewards: The reward of each copy.
        ended: Whether the task of each copy is done.
    """

    states: States
    rewards: npt.NDArray[np.float64]
    ended: npt.NDArray[np.bool_]


class World(ABC):
    """Rules and pictures of a world, for any number of copies at once.

    A world holds settings only: the values of the factors are the whole state, so the same
    functions serve a single environment, a batch of them and a data set.
    """

    length: int
    """Steps of an episode."""

    domains: ClassVar[tuple[str, ...]] = ()
    """Values of the setting `domain`, first the one that agents learn in; none without a task."""

    def __init_subclass__(cls) -> None:
        """Lets every constructor refuse settings of the wrong kind."""
        super().__init_subclass__()
        checks_settings(cls)

    @property
    @abstractmethod
    def traits(self) -> tuple[Trait, ...]:
        """The factors, which decide an image and the rules."""

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
        """Name, version of the pictures and settings, for the records of a data set."""

    @abstractmethod
    def start(self, draws: np.random.Generator) -> States:
        """The state of one copy at the start of an episode, shape (1, factors).

        Args:
            draws: Random numbers of the copy.
        """

    @abstractmethod
    def step(
        self, states: States, actions: npt.NDArray[Any], draws: Sequence[np.random.Generator]
    ) -> Step:
        """One step of every copy; the given states are left as they are.

        Args:
            states: Values of the factors.
            actions: One action a copy.
            draws: Random numbers, one generator a copy.
        """

    @abstractmethod
    def draw(self, states: States) -> Frames:
        """Images of states; an image does not depend on those drawn with it.

        Args:
            states: Values of the factors.
        """

    def seen(self, states: States) -> Seen:
        """True factors of what is in the image, seen from the agent and scaled to about 1.

        Unless a world says more, the values of all factors.

        Args:
            states: Values of the factors.
        """
        return states.astype(np.float32)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the factors, in the order of the columns of a state."""
        return tuple(trait.name for trait in self.traits)
