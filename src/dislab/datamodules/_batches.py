"""Batches of state numbers, and the loaders that hand them out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from dislab.base import Dataset
from dislab.factors import Indices
from dislab.functional.draws import host_generator

_TRAINING: Final = 0x1D15
_FIXED: Final = 0xF1ED
"""Tell the draws of states, of training and of evaluation, from other draws with the same seed."""


class Drawn(NamedTuple):
    """What an index plan draws for one batch.

    Attributes:
        states: State numbers, shape (*roles, batch): one row for each role that an image plays.
        labels: What else the batch tells, one row an example, by name.
    """

    states: Indices
    labels: Mapping[str, npt.NDArray[Any]] = {}

    def rows(self, start: int, stop: int) -> "Drawn":
        """A slice of the batch.

        Args:
            start: First example.
            stop: The one after the last.
        """
        labels = {name: label[start:stop] for name, label in self.labels.items()}
        return Drawn(self.states[..., start:stop], labels)


@runtime_checkable
class IndexPlan(Protocol):
    """Draws batches of state numbers; it travels to worker processes."""

    def draw(self, generator: np.random.Generator, count: int, number: int) -> Drawn:
        """One batch.

        Args:
            generator: Where every random number comes from.
            count: Examples in the batch.
            number: Which batch it is, for plans that take turns.
        """


class Numbers(NamedTuple):
    """What travels from a loader to the device.

    Attributes:
        states: State numbers, shape (*roles, batch).
        positions: Their value numbers, shape (*roles, batch, factor).
        image: Their pixels 0 to 255, shape (*roles, batch, channel, height, width); None when the
            images are gathered on the device.
        labels: What else the batch tells, by name; empty for single images.
    """

    states: Tensor
    positions: Tensor
    image: Tensor | None
    labels: Mapping[str, Tensor] = {}


@dataclass
class Progress:
    """How far training has come.

    Args:
        seed: Seed of the run, the same in every process.
        step: Batches handed out so far.
    """

    seed: int = 0
    step: int = 0


@dataclass(frozen=True)
class TrainPlan:
    """The training batches of one process, as a function of seed and step.

    Args:
        plan: Draws a batch of all processes.
        batch_size: Examples of all processes in one step.
        rank: Number of this process.
        world: Number of processes.
        progress: Seed of the run, and batches handed out.
    """

    plan: IndexPlan
    batch_size: int
    rank: int = 0
    world: int = 1
    progress: Progress = field(default_factory=Progress)

    def draw(self, step: int) -> Drawn:
        """This process's part of a batch.

        Args:
            step: Number of the batch, from 0.
        """
        generator = host_generator(self.progress.seed, _TRAINING, step)
        share = self.batch_size // self.world
        drawn = self.plan.draw(generator, self.batch_size, step)
        return drawn.rows(self.rank * share, (self.rank + 1) * share)


@dataclass(frozen=True)
class FixedPlan:
    """Batches of evaluation that are the same in every run.

    Args:
        plan: Draws a batch.
        batch_size: Examples in a batch.
        seed: Decides them.
    """

    plan: IndexPlan
    batch_size: int
    seed: int

    def draw(self, number: int) -> Drawn:
        """A whole batch.

        Args:
            number: Number of the batch, from 0.
        """
        return self.plan.draw(host_generator(self.seed, _FIXED, number), self.batch_size, number)


@dataclass(frozen=True)
class OrderedPlan:
    """This process's share of some states, in their order.

    Args:
        states: The states of this process.
        batch_size: Images in a batch.
    """

    states: Indices
    batch_size: int

    def draw(self, number: int) -> Drawn:
        """A whole batch, or the shorter last one.

        Args:
            number: Number of the batch, from 0.
        """
        return Drawn(self.states[number * self.batch_size : (number + 1) * self.batch_size])


class Source(TorchDataset[Numbers]):
    """Batches by number.

    Args:
        dataset: The images.
        draw: The states of a batch by its number.
        with_images: Whether images are gathered here, on the host.
    """

    def __init__(self, dataset: Dataset, draw: Callable[[int], Drawn], with_images: bool) -> None:
        self.dataset = dataset
        self.draw = draw
        self.with_images = with_images

    def __getitem__(self, number: int) -> Numbers:
        """The batch of that number."""
        drawn = self.draw(number)
        states = np.ascontiguousarray(drawn.states)
        index = torch.from_numpy(states)
        positions = torch.from_numpy(self.dataset.factors.positions(states))
        labels = {
            name: torch.from_numpy(np.ascontiguousarray(label))
            for name, label in drawn.labels.items()
        }
        image = None
        if self.with_images:
            image = self.dataset.images(index.flatten()).view(
                *index.shape, *self.dataset.image_shape
            )
        return Numbers(index, positions, image, labels)

    def batches(self, numbers: Sequence[int], num_workers: int) -> Iterator[Numbers]:
        """Some batches, in the order of their numbers.

        Args:
            numbers: Which batches.
            num_workers: Processes that gather images ahead; none means this one.
        """
        if not num_workers:
            return map(self.__getitem__, numbers)
        loader = DataLoader(
            self,
            batch_size=None,
            sampler=numbers,
            num_workers=num_workers,
            # without one of its own the loader would draw from torch's global generator
            generator=torch.Generator(),
        )
        return iter(loader)


class TrainLoader:
    """An epoch of training batches each time it is iterated; the draws go on from epoch to epoch.

    Its state is that of the run, so Lightning can resume it in the middle of an epoch: it hands
    out batches from the step that was reached, and Lightning counts how many the epoch still has.

    Args:
        source: Gathers a batch by its step.
        progress: Seed of the run, and batches handed out; counted here.
        steps: Batches in an epoch.
        num_workers: Processes that gather images ahead.
        unfinished: Counts the batches that were handed out and not trained on.
    """

    def __init__(
        self,
        source: Source,
        progress: Progress,
        steps: int,
        num_workers: int,
        unfinished: Callable[[], int],
    ) -> None:
        self._source = source
        self._progress = progress
        self._steps = steps
        self._num_workers = num_workers
        self._unfinished = unfinished

    def __len__(self) -> int:
        """Batches in an epoch."""
        return self._steps

    def __iter__(self) -> Iterator[Numbers]:
        """The batches of the next epoch."""
        start = self._progress.step
        for batch in self._source.batches(range(start, start + self._steps), self._num_workers):
            self._progress.step += 1
            yield batch

    def state_dict(self) -> dict[str, int]:
        """Seed, and number of the next batch to train on."""
        return {"seed": self._progress.seed, "step": self._progress.step - self._unfinished()}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continues from a state.

        Args:
            state: What `state_dict` returned.
        """
        self._progress.seed, self._progress.step = state["seed"], state["step"]


class EvalLoader:
    """Some batches by their numbers, the same every time.

    Args:
        source: Gathers a batch by its number.
        numbers: This process's batches.
        num_workers: Processes that gather images ahead.
    """

    def __init__(self, source: Source, numbers: Sequence[int], num_workers: int) -> None:
        self._source = source
        self._numbers = numbers
        self._num_workers = num_workers

    def __len__(self) -> int:
        """Number of batches; the last one may be smaller."""
        return len(self._numbers)

    def __iter__(self) -> Iterator[Numbers]:
        """The batches in order."""
        return self._source.batches(self._numbers, self._num_workers)


def in_order(states: Indices, rank: int, world: int, repeat: bool) -> Indices:
    """A process's share of some states.

    Args:
        states: The states of all processes.
        rank: Number of this process.
        world: Number of processes.
        repeat: Whether the first states are repeated until every process has as many, as losses
            over the global batch need.
    """
    if repeat and len(states):
        states = np.resize(states, -(-len(states) // world) * world)
    return np.array_split(states, world)[rank]


def in_turn(batches: int, rank: int, world: int) -> list[int]:
    """A process's numbers of some batches; the first are repeated until all have as many.

    Args:
        batches: Batches of all processes.
        rank: Number of this process.
        world: Number of processes.
    """
    return [number % batches for number in range(rank, -(-batches // world) * world, world)]
