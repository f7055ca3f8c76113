"""Single images for unsupervised training."""

from functools import cached_property
from typing import Any, Literal, cast, final

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from dislab.base import DataModule, Dataset, ImageBatch, Split
from dislab.datamodules._batches import EvalLoader, Numbers, Source, TrainLoader, TrainPlan
from dislab.datamodules._splits import split_states
from dislab.errors import InputError
from dislab.factors import Indices, Selection
from dislab.functional.collectives import world

_MEMORY_SHARE = 0.25


@final
class SingleData(DataModule):
    """Single images, drawn at random with replacement.

    The training batch of a step is a function of the run's seed and the step alone: the same for
    every number of workers, split over the processes of a distributed run, and continued exactly
    when a run is resumed. The other splits are walked through in order, every state once.

    Args:
        dataset: The images and their factors.
        batch_size: Images in a training batch, over all processes together.
        include: The states that take part, as conditions on factors; all unless given.
        hold_out: The states of the test split, as conditions on factors; neither they nor their
            duplicates are trained on. Unless given, a random part of the states is held out.
        validation: Fraction of the states that validate.
        test: Fraction of the states that test; not used with hold_out.
        split_seed: Decides the random splits; another number than the run's seed, so that runs
            with different seeds share their test states.
        steps_per_epoch: Batches that count as an epoch; unless given, as many as fill the
            training split once.
        eval_batch_size: Images in a batch of validation, test and prediction, in each process.
        num_workers: Processes that gather images ahead; for small images none is fastest.
        residency: Where images are gathered: `host`, `device`, or `auto`, which takes a CUDA
            device whenever the tables fill at most a quarter of its free memory.

    Raises:
        InputError: A number is out of range, or a split would be empty.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int = 64,
        include: Selection | None = None,
        hold_out: Selection | None = None,
        validation: float = 0.01,
        test: float = 0.05,
        split_seed: int = 0,
        steps_per_epoch: int | None = None,
        eval_batch_size: int = 256,
        num_workers: int = 0,
        residency: Literal["auto", "host", "device"] = "auto",
    ) -> None:
        super().__init__()
        self.dataset = dataset
        self.batch_size = batch_size
        self.include = include
        self.hold_out = hold_out
        self.validation = validation
        self.test = test
        self.split_seed = split_seed
        self.steps_per_epoch = steps_per_epoch
        self.eval_batch_size = eval_batch_size
        self.num_workers = num_workers
        self.residency = residency
        self._check()
        self._plan = TrainPlan(self.indices("train"), batch_size)
        self._on_device: bool | None = None
        self._tables: dict[torch.device, dict[str, Tensor]] = {}

    def indices(self, split: Split) -> Indices:
        """State numbers of a split, ascending.

        Args:
            split: Which part of the selected states.

        Raises:
            InputError: There is no such split.
        """
        if split not in self._splits:
            raise InputError(f"there is no split {split!r}; there are {', '.join(self._splits)}")
        return self._splits[split]

    def images(self, index: Int[Tensor, " batch"]) -> Float[Tensor, "batch channel height width"]:
        """Images as a network receives them, pixels in [0, 1], on the device of `index`.

        Args:
            index: State numbers.
        """
        if self._on_device:
            return _scaled(self.dataset.gather(self._tables_on(index.device), index))
        return _scaled(self.dataset.images(index).to(index.device))

    def prepare_data(self) -> None:
        """Makes sure that the data are on disk."""
        self.dataset.prepare()

    def setup(self, stage: str) -> None:
        """Takes the seed of the run, which all processes share, and the place of the images.

        Raises:
            InputError: The batch cannot be shared evenly by the processes.
        """
        rank, size = world()
        if self.batch_size % size:
            raise InputError(
                f"batch_size {self.batch_size} counts the images of all processes, and {size} "
                f"cannot share it evenly; choose a multiple of {size}"
            )
        if stage == "fit":
            seed = torch.initial_seed()
            if self.trainer is not None:
                seed = self.trainer.strategy.broadcast(seed)
            self._plan = TrainPlan(
                self.indices("train"), self.batch_size, rank, size, seed & (2**63 - 1)
            )
        if self.trainer is not None:
            self._on_device = self._gathers_on(self.trainer.strategy.root_device)

    def train_dataloader(self) -> TrainLoader:
        """Random batches of the training split."""
        steps = self.steps_per_epoch or self.train_size // self.batch_size
        source = Source(self.dataset, self._plan.draw, not self._on_device)
        return TrainLoader(source, self._plan, steps, self.num_workers, self._unfinished)

    def val_dataloader(self) -> EvalLoader:
        """The validation split in order."""
        return self._eval_loader("validation", repeat=True)

    def test_dataloader(self) -> EvalLoader:
        """The test split in order."""
        return self._eval_loader("test", repeat=True)

    def predict_dataloader(self) -> EvalLoader:
        """The test split in order."""
        return self._eval_loader("test", repeat=False)

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> ImageBatch:
        """Images and factors, as the objective receives them, in the trainer's precision.

        Args:
            batch: What a loader handed out, on the device.
            dataloader_idx: Which loader; there is one.
        """
        numbers = cast("Numbers", batch)
        image = self.images(numbers.states) if numbers.image is None else _scaled(numbers.image)
        delivered = ImageBatch(image, numbers.positions)
        if self.trainer is None:
            return delivered
        return cast("ImageBatch", self.trainer.precision_plugin.convert_input(delivered))

    def state_dict(self) -> dict[str, int]:
        """Seed, and number of the next batch to train on."""
        return {"seed": self._plan.seed, "step": self._plan.step - self._unfinished()}

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        """Continues from a state; Lightning's own loops restore loaders in mid-epoch only.

        Args:
            state_dict: What `state_dict` returned.
        """
        self._plan.seed, self._plan.step = state_dict["seed"], state_dict["step"]

    @cached_property
    def _splits(self) -> dict[Split, Indices]:
        return split_states(
            self.dataset, self.include, self.hold_out, self.validation, self.test, self.split_seed
        )

    def _eval_loader(self, split: Split, repeat: bool) -> EvalLoader:
        states = self.indices(split)
        rank, size = world()
        if 0 < len(states) < size:
            raise InputError(f"the {split} split has {len(states)} states for {size} processes")
        return EvalLoader(
            self.dataset,
            states,
            self.eval_batch_size,
            self.num_workers,
            not self._on_device,
            rank,
            size,
            repeat,
        )

    def _unfinished(self) -> int:
        """Batches that were handed out and not trained on, as after an exception in a step."""
        if self.trainer is None:
            return 0
        progress: Any = self.trainer.fit_loop.epoch_loop.batch_progress.current
        return int(progress.ready - progress.processed)

    def _gathers_on(self, device: torch.device) -> bool:
        if self.residency != "auto" or device.type != "cuda":
            return self.residency == "device"
        size = sum(table.nbytes for table in self.dataset.tables().values())
        free, _ = torch.cuda.mem_get_info(device)
        return size <= _MEMORY_SHARE * free

    def _tables_on(self, device: torch.device) -> dict[str, Tensor]:
        if device not in self._tables:
            tables = self.dataset.tables()
            self._tables[device] = {name: table.to(device) for name, table in tables.items()}
        return self._tables[device]

    def _check(self) -> None:
        counts = {"batch_size": self.batch_size, "eval_batch_size": self.eval_batch_size}
        if self.steps_per_epoch is not None:
            counts["steps_per_epoch"] = self.steps_per_epoch
        for name, count in counts.items():
            if count < 1:
                raise InputError(f"{name} must be at least 1, not {count}")
        if self.num_workers < 0:
            raise InputError(f"num_workers must be at least 0, not {self.num_workers}")
        if min(self.validation, self.test) < 0 or self.validation + self.test >= 1:
            raise InputError(
                f"validation {self.validation} and test {self.test} are fractions of the states; "
                "neither may be negative, and together they must leave some for training"
            )
        if self.batch_size > self.train_size:
            raise InputError(
                f"batch_size {self.batch_size} is larger than the training split of "
                f"{self.train_size} states; lower it, or select more states"
            )


def _scaled(
    image: UInt8[Tensor, "batch channel height width"],
) -> Float[Tensor, "batch channel height width"]:
    return image.float().div_(255)
