"""Batches of states and images, and the loaders that return them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from dislab.base.dataset import Dataset
from dislab.plans.index_plans import FixedBatches, OrderedBatches, TrainBatches, TrainingProgress


class Numbers(NamedTuple):
    """A batch on its way from a loader to the device.

    Attributes:
        states: State numbers, shape (*roles, batch).
        positions: Their value numbers, shape (*roles, batch, factor).
        image: Their pixels 0 to 255, shape (*roles, batch, channel, height, width); None if the
            images are gathered on the device.
        labels: Other draws of the index plan, by name.
        single: Whether these are single images in order, even if the data module delivers another
            batch type.
    """

    states: Tensor
    positions: Tensor
    image: Tensor | None
    labels: Mapping[str, Tensor] = {}
    single: bool = False

    def moved(self, device: torch.device) -> "Numbers":
        """The batch on a device; copies to an accelerator are asynchronous."""
        if self.states.device == device:
            return self
        later = device.type == "cuda"
        return Numbers(
            self.states.to(device, non_blocking=later),
            self.positions.to(device, non_blocking=later),
            None if self.image is None else self.image.to(device, non_blocking=later),
            {name: label.to(device, non_blocking=later) for name, label in self.labels.items()},
            self.single,
        )


class Source(TorchDataset[Numbers]):
    """Batches by number.

    Args:
        dataset: The images.
        planned: Gives the states of a batch by its number.
        with_images: Whether images are gathered here instead of on the device.
    """

    def __init__(
        self,
        dataset: Dataset,
        planned: TrainBatches | FixedBatches | OrderedBatches,
        with_images: bool,
    ) -> None:
        self.dataset = dataset
        self.planned = planned
        self.with_images = with_images

    def __getitem__(self, batch_index: int) -> Numbers:
        """The batch of that number."""
        batch = self.planned.states_of(batch_index)
        states = np.ascontiguousarray(batch.states)
        index = torch.from_numpy(states)
        rows = batch.positions
        rows = self.dataset.factors.positions(states) if rows is None else rows
        labels = {
            name: torch.from_numpy(np.ascontiguousarray(label))
            for name, label in batch.labels.items()
        }
        image = None
        if self.with_images:
            image = self.dataset.images(index.flatten()).view(
                *index.shape, *self.dataset.image_shape
            )
        single = isinstance(self.planned, OrderedBatches)
        return Numbers(index, torch.from_numpy(rows), image, labels, single)

    def batches(self, numbers: Sequence[int], num_workers: int) -> Iterator[Numbers]:
        """Batches in the order of `numbers`; workers, if any, gather images ahead."""
        if not num_workers:
            return map(self.__getitem__, numbers)
        loader = DataLoader(
            self,
            batch_size=None,
            sampler=numbers,
            num_workers=num_workers,
            # without its own generator the loader would draw from torch's global one
            generator=torch.Generator(),
        )
        return iter(loader)


class TrainLoader:
    """One epoch of training batches per iteration; the draws continue from epoch to epoch.

    Its state is that of the run, so Lightning can resume it in the middle of an epoch: it continues
    from the step that was reached, and Lightning counts the remaining batches of the epoch.

    Args:
        source: Gathers a batch by its step.
        progress: Seed of the run, and number of returned batches, which is counted here.
        steps: Batches in an epoch.
        num_workers: Processes that gather images ahead.
        unfinished: Counts the batches that were returned but not trained on.
    """

    def __init__(
        self,
        source: Source,
        progress: TrainingProgress,
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
        return self._progress.state(self._unfinished())

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continue from a state that `state_dict` returned."""
        self._progress.restore(state)


class EvalLoader:
    """Batches of given numbers, the same in every pass.

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
