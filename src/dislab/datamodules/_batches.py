"""Batches of state numbers, and the loaders that hand them out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from dislab.base import Dataset
from dislab.factors import Indices
from dislab.functional.draws import host_generator

_STREAM: Final = 0x1D15
"""Tells the draws of states from other draws with the seed of the run."""


class Numbers(NamedTuple):
    """What travels from a loader to the device.

    Attributes:
        states: State numbers, shape (batch,).
        positions: Their value numbers, shape (batch, factor).
        image: Their pixels 0 to 255, shape (batch, channel, height, width); None when the images
            are gathered on the device.
    """

    states: Tensor
    positions: Tensor
    image: Tensor | None


@dataclass
class TrainPlan:
    """The training batches of one process, as a function of seed and step.

    Args:
        states: The states of the training split.
        batch_size: Images of all processes in one step.
        rank: Number of this process.
        world: Number of processes.
        seed: Seed of the run, the same in every process.
        step: Batches handed out so far.
    """

    states: Indices
    batch_size: int
    rank: int = 0
    world: int = 1
    seed: int = 0
    step: int = 0

    def draw(self, step: int) -> Indices:
        """This process's part of a batch that is drawn with replacement.

        Args:
            step: Number of the batch, from 0.
        """
        generator = host_generator(self.seed, _STREAM, step)
        chosen = generator.integers(len(self.states), size=self.batch_size)
        share = self.batch_size // self.world
        return self.states[chosen[self.rank * share : (self.rank + 1) * share]]


class Source(TorchDataset[Numbers]):
    """Batches by number.

    Args:
        dataset: The images.
        states: The states of a batch by its number.
        with_images: Whether images are gathered here, on the host.
    """

    def __init__(
        self, dataset: Dataset, states: Callable[[int], Indices], with_images: bool
    ) -> None:
        self.dataset = dataset
        self.states = states
        self.with_images = with_images

    def __getitem__(self, number: int) -> Numbers:
        """The batch of that number."""
        states = self.states(number)
        index = torch.from_numpy(np.ascontiguousarray(states))
        positions = torch.from_numpy(self.dataset.factors.positions(states))
        image = self.dataset.images(index) if self.with_images else None
        return Numbers(index, positions, image)

    def batches(self, numbers: range, num_workers: int) -> Iterator[Numbers]:
        """The batches of a range of numbers in their order.

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

    Its state is that of the plan, so Lightning can resume it in the middle of an epoch: it hands
    out batches from the step that was reached, and Lightning counts how many the epoch still has.

    Args:
        source: Gathers a batch by its step.
        plan: Draws the states, and counts the batches that were handed out.
        steps: Batches in an epoch.
        num_workers: Processes that gather images ahead.
        unfinished: Counts the batches that were handed out and not trained on.
    """

    def __init__(
        self,
        source: Source,
        plan: TrainPlan,
        steps: int,
        num_workers: int,
        unfinished: Callable[[], int],
    ) -> None:
        self._source = source
        self._plan = plan
        self._steps = steps
        self._num_workers = num_workers
        self._unfinished = unfinished

    def __len__(self) -> int:
        """Batches in an epoch."""
        return self._steps

    def __iter__(self) -> Iterator[Numbers]:
        """The batches of the next epoch."""
        start = self._plan.step
        for batch in self._source.batches(range(start, start + self._steps), self._num_workers):
            self._plan.step += 1
            yield batch

    def state_dict(self) -> dict[str, int]:
        """Seed, and number of the next batch to train on."""
        return {"seed": self._plan.seed, "step": self._plan.step - self._unfinished()}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continues from a state.

        Args:
            state: What `state_dict` returned.
        """
        self._plan.seed, self._plan.step = state["seed"], state["step"]


class EvalLoader:
    """This process's share of some states, in their order.

    Args:
        dataset: The images.
        states: The states of all processes.
        batch_size: Images in a batch of this process.
        num_workers: Processes that gather images ahead.
        with_images: Whether images are gathered on the host.
        rank: Number of this process.
        world: Number of processes.
        repeat: Whether the first states are repeated until every process has as many, as losses
            over the global batch need.
    """

    def __init__(
        self,
        dataset: Dataset,
        states: Indices,
        batch_size: int,
        num_workers: int,
        with_images: bool,
        rank: int = 0,
        world: int = 1,
        repeat: bool = False,
    ) -> None:
        if repeat and len(states):
            states = np.resize(states, -(-len(states) // world) * world)
        self._states = np.array_split(states, world)[rank]
        self._batch_size = batch_size
        self._num_workers = num_workers
        self._source = Source(dataset, self._chunk, with_images)

    def __len__(self) -> int:
        """Number of batches; the last one may be smaller."""
        return -(-len(self._states) // self._batch_size)

    def __iter__(self) -> Iterator[Numbers]:
        """The batches in order."""
        return self._source.batches(range(len(self)), self._num_workers)

    def _chunk(self, number: int) -> Indices:
        return self._states[number * self._batch_size : (number + 1) * self._batch_size]
