"""Index plans, which draw state numbers, and the batches of each split that follow from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from dislab.factors import FactorSpace, Indices
from dislab.functional.streams import Stream
from dislab.naming.settings import checks_fields

_TOGETHER: Final = 4096
"""Number of training examples drawn together, at least one batch: small batches would otherwise
take longer to draw than to gather. Changing it changes the draws of a seed."""


@checks_fields
class Drawn(NamedTuple):
    """Draws of an index plan for one batch.

    Attributes:
        states: State numbers, shape (*roles, batch): one row for each role that an image plays.
        labels: Other parts of the batch, one row per example, by name.
        positions: Value numbers of the states, shape (*roles, batch, factor), if known.
    """

    states: Indices
    labels: Mapping[str, npt.NDArray[Any]] = {}
    positions: Indices | None = None


@runtime_checkable
class IndexPlan(Protocol):
    """Draws batches of state numbers; it is pickled for worker processes."""

    def draw(
        self, generator: np.random.Generator, count: int, step: int, batches: int = 1
    ) -> Drawn:
        """Draws some batches, concatenated in one array.

        Args:
            generator: Source of every random number.
            count: Examples in a batch.
            step: Number of the first batch, for plans that depend on it.
            batches: Number of batches.
        """


@dataclass
class TrainingProgress:
    """Progress of training.

    Args:
        seed: Seed of the run, the same in every process.
        step: Number of batches returned so far.
    """

    seed: int = 0
    step: int = 0

    def state(self, unfinished: int) -> dict[str, int]:
        """Seed, and number of the next batch to train on, if some were returned in vain."""
        return {"seed": self.seed, "step": self.step - unfinished}

    def restore(self, state: dict[str, int]) -> None:
        """Continues from a state."""
        self.seed, self.step = state["seed"], state["step"]


@dataclass
class TrainBatches:
    """The training batches of one process, as a function of seed and step.

    Steps are drawn in numbered blocks of some thousand examples. A block depends only on the seed
    and its number, not on the step that is requested first.

    Args:
        plan: Draws batches of all processes.
        batch_size: Examples of all processes in one step.
        rank: Number of this process.
        world: Number of processes.
        progress: Seed of the run, and number of batches returned.
        space: The factors; if given, value numbers come with the states.
    """

    plan: IndexPlan
    batch_size: int
    rank: int = 0
    world: int = 1
    progress: TrainingProgress = field(default_factory=TrainingProgress)
    space: FactorSpace | None = None
    _key: tuple[int, int] | None = field(default=None, init=False, repr=False)
    _block_states: Drawn = field(default_factory=lambda: Drawn(np.empty(0, np.int64)), init=False)

    def states_of(self, step: int) -> Drawn:
        """This process's part of the states of a batch."""
        block, index = divmod(step, self._steps)
        key = (self.progress.seed, block)
        if key != self._key:
            self._block_states, self._key = self._block(*key), key
        states, labels, positions = self._block_states
        return Drawn(
            states[index],
            {name: label[index] for name, label in labels.items()},
            None if positions is None else positions[index],
        )

    @property
    def _steps(self) -> int:
        return max(1, _TOGETHER // self.batch_size)

    def _block(self, seed: int, block: int) -> Drawn:
        """This process's part of all batches of a block, with a leading axis of steps."""
        steps, share = self._steps, self.batch_size // self.world
        generator = Stream(seed, block).of("training states").host()
        block_states = self.plan.draw(generator, self.batch_size, block * steps, steps)
        columns = slice(self.rank * share, (self.rank + 1) * share)
        states = block_states.states.reshape(
            *block_states.states.shape[:-1], steps, self.batch_size
        )[..., columns]
        states = np.ascontiguousarray(np.moveaxis(states, -2, 0))
        labels = {
            name: label.reshape(steps, self.batch_size, *label.shape[1:])[:, columns]
            for name, label in block_states.labels.items()
        }
        positions = None if self.space is None else self.space.positions(states)
        return Drawn(states, labels, positions)


@dataclass(frozen=True)
class FixedBatches:
    """Batches of evaluation that are the same in every run.

    Args:
        plan: Draws a batch.
        batch_size: Examples in a batch.
        seed: Seed of the draws.
    """

    plan: IndexPlan
    batch_size: int
    seed: int

    def states_of(self, index: int) -> Drawn:
        """The states of a whole batch."""
        generator = Stream(self.seed, index).of("evaluated states").host()
        return self.plan.draw(generator, self.batch_size, index)


@dataclass(frozen=True)
class OrderedBatches:
    """Given states, in their order.

    Args:
        states: The states.
        batch_size: Images in a batch.
    """

    states: Indices
    batch_size: int

    def states_of(self, index: int) -> Drawn:
        """The states of a whole batch, or of the shorter last one."""
        return Drawn(self.states[index * self.batch_size : (index + 1) * self.batch_size])


def in_turn(batches: int, rank: int, world: int) -> list[int]:
    """Batch numbers of one process; the first ones repeat until all processes have equally many.

    Args:
        batches: Batches of all processes.
        rank: Number of this process.
        world: Number of processes.
    """
    return [index % batches for index in range(rank, -(-batches // world) * world, world)]
