"""Base of the data modules: splits, loaders, gathering of images, and resuming."""

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, cast

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base.datamodule import (
    DataModule,
    ImageBatch,
    LabelledImages,
    Split,
    States,
    state_numbers,
)
from dislab.base.dataset import Dataset
from dislab.base.parts import ImageShape
from dislab.base.trainer_counters import batches_unfinished
from dislab.errors import InputError
from dislab.factors import UNLABELLED, Correlations, Indices, Selection
from dislab.functional.checks import check_count
from dislab.functional.random import host_generator
from dislab.functional.runtime import world
from dislab.plans.correlation import check_correlations, likelihoods
from dislab.plans.few_labels import LABELLED, FewLabels, InOrder, LabelChoice, LabelledPlan, Labels
from dislab.plans.gathering import Gathering
from dislab.plans.index_plans import (
    FixedBatches,
    IndexPlan,
    OrderedBatches,
    TrainBatches,
    TrainingProgress,
    in_turn,
)
from dislab.plans.loaders import EvalLoader, Numbers, Source, TrainLoader
from dislab.plans.splits import split_states
from dislab.plugins import check_methods

_EVALUATED: Final = ("validation", "test")


class PlannedData(DataModule):
    """Base of the data modules whose batches are drawn by index plans.

    A concrete class implements `plan`, which draws state numbers, and, if a batch is more than
    images and their factors, `batch_type` and `delivered`, which names its parts. It inherits
    splits, processes, workers, resuming, residency, transforms and correlations. A constructor with
    additional settings passes on the others:

        def __init__(self, dataset: Dataset, mine: int = 1, **settings: Any) -> None:
            super().__init__(dataset, **settings)

    Args:
        dataset: The images and their factors.
        batch_size: Examples in a training batch, summed over all processes.
        include: The states that take part, as conditions on factors, such as `{shape: [heart],
            scale: {min: 0.6}}`; all unless given.
        hold_out: The states of the test split, in the form of `include`; neither they nor their
            duplicates are trained on. Unless given, a random part of the states is held out.
        validation: Fraction of the states that validate.
        test: Fraction of the states that test; not used with hold_out.
        split_seed: Seed of the random splits, and of the examples of validation and test if those
            are drawn; independent of the run's seed, so that runs with different seeds share their
            test states.
        steps_per_epoch: Batches that count as an epoch; unless given, as many as fill the
            training split once.
        eval_batch_size: Examples in a batch of validation and test, and images in one of
            prediction, in each process.
        num_workers: Processes that gather images ahead; for small images 0 is fastest.
        residency: Where images are gathered: `host`, `device`, or `auto`, which takes a CUDA
            device whenever the tables fill at most a quarter of its free memory.
        correlation: Factors that are correlated in training, and the strength, such as
            `{factors: [scale, shape], strength: 0.4}`; of a list all correlations hold at once.
            Factors are independent unless given.
        few_labels: Labels of a few images, such as `{count: 100}`, which are drawn beside the
            others, one an example.
        resize: Height and width in pixels to which images are resized; their own size unless given.
        colour: `grey` takes the luminance of RGB images, `rgb` repeats a single channel.

    Raises:
        InputError: A number is out of range, or a split would be empty.
    """

    takes_gaps: ClassVar[bool] = False
    """Whether its batches may have images without a value of some factor."""

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
        correlation: Correlations | None = None,
        resize: int | None = None,
        colour: Literal["keep", "grey", "rgb"] = "keep",
        few_labels: FewLabels | None = None,
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
        self.correlation = correlation
        self.resize = resize
        self.colour = colour
        self.few_labels = few_labels
        self._gathering = Gathering(dataset, residency, num_workers, resize, colour)
        self._check()
        self._rank, self._world = 0, 1
        self._progress = TrainingProgress()
        self._plans: dict[Split, IndexPlan] = {}

    @abstractmethod
    def plan(self, split: Split) -> IndexPlan:
        """The plan that draws the batches of a split.

        Args:
            split: Which part of the selected states.
        """

    def delivered(
        self,
        images: Float[Tensor, "*roles batch channel height width"],
        positions: Int[Tensor, "*roles batch factor"],
        labels: Mapping[str, Tensor],
    ) -> Any:
        """Makes a batch for the objective.

        Args:
            images: Pixels in [0, 1], with a leading axis for the roles of the images.
            positions: Value numbers of the images.
            labels: Other draws of the index plan.
        """
        return ImageBatch(images, positions)

    @property
    def image_shape(self) -> ImageShape:
        """Channels, height and width of the images after transforms."""
        return self._gathering.shape

    @property
    def epoch_steps(self) -> int:
        """Number of the batches that count as an epoch of training."""
        return self.steps_per_epoch or self.train_size // self.batch_size

    def indices(self, split: Split) -> Indices:
        """State numbers of a split, ascending.

        Args:
            split: Which part of the selected states.

        Raises:
            InputError: The split does not exist.
        """
        if split not in self._splits:
            raise InputError(
                f"no split is named {split!r}; choose one of {', '.join(self._splits)}"
            )
        return self._splits[split]

    def images(self, index: States) -> Float[Tensor, "batch channel height width"]:
        """Images as a network receives them, pixels in [0, 1], on the device of `index`.

        Args:
            index: State numbers: a tensor, an array or a list.

        Raises:
            InputError: They are no whole numbers, or there is no such state.
        """
        if not isinstance(index, Tensor):
            index = torch.from_numpy(state_numbers(self.factors, index))
        try:
            return self._gathering.images(index)
        except IndexError:
            state_numbers(self.factors, index)
            raise

    def setup(self, stage: str) -> None:
        """Sets the seed of the run, which all processes share, and the residency of the images.

        Raises:
            InputError: A training batch cannot be divided evenly among the processes.
        """
        rank, size = world()
        if stage == "fit":
            if self.batch_size % size:
                raise InputError(
                    f"batch_size {self.batch_size} counts the images of all processes, and {size} "
                    f"cannot share it evenly; choose a multiple of {size}"
                )
            seed = torch.initial_seed()
            if self.trainer is not None:
                seed = self.trainer.strategy.broadcast(seed)
            self._rank, self._world = rank, size
            self._progress = TrainingProgress(seed & (2**63 - 1))
        if self.trainer is not None:
            self._gathering.settle(self.trainer.strategy.root_device)
            if stage == "fit" and self.trainer.strategy.root_device.type == "cpu":
                self._gathering.keep(self.indices("all"))

    def train_dataloader(self) -> TrainLoader:
        """Random batches of the training split."""
        batches = TrainBatches(
            self._plan_of("train"),
            self.batch_size,
            self._rank,
            self._world,
            self._progress,
            self.factors,
        )
        return TrainLoader(
            self._source(batches),
            self._progress,
            self.epoch_steps,
            self.num_workers,
            self._unfinished,
        )

    def val_dataloader(self) -> EvalLoader:
        """Batches of the validation split, the same every time."""
        return self._eval_loader("validation")

    def test_dataloader(self) -> EvalLoader:
        """Batches of the test split, the same every time."""
        return self._eval_loader("test")

    def predict_dataloader(self) -> EvalLoader:
        """Single images of the test split, in order, divided among the processes.

        Raises:
            InputError: The test split has fewer images than there are processes.
        """
        states = self.indices("test")
        rank, size = world()
        if 0 < len(states) < size:
            raise InputError(f"the test split has {len(states)} states for {size} processes")
        batches = OrderedBatches(np.array_split(states, size)[rank], self.eval_batch_size)
        numbers = range(-(-len(batches.states) // self.eval_batch_size))
        return EvalLoader(self._source(batches), numbers, self.num_workers)

    def sample_loader(self, split: Split, examples: int, seed: int) -> EvalLoader:
        """Batches of random examples of a split; single images are drawn without repetition.

        Other examples come in whole batches, so that there may be more of them than requested.
        """
        states = self.indices(split)
        count = min(examples, len(states))
        size = min(self.eval_batch_size, count) or 1
        chosen = host_generator(seed).choice(states, size=count, replace=False)
        batches = self._ordered(split, chosen, size)
        if batches is None:
            batches = FixedBatches(self._plan_of(split), size, seed)
        return EvalLoader(self._source(batches), range(-(-count // size)), self.num_workers)

    def transfer_batch_to_device(
        self, batch: Any, device: torch.device, dataloader_idx: int
    ) -> Numbers:
        """The batch on the run's device, without Lightning's recursive search for tensors."""
        return cast("Numbers", batch).moved(device)

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        """The batch as the objective receives it, in the trainer's precision."""
        numbers = cast("Numbers", batch)
        if numbers.image is None:
            images = self._gathering.images(numbers.states.flatten())
        else:
            images = self._gathering.received(numbers.image.flatten(0, -4))
        images = self._in_precision(images)
        if numbers.states.ndim > 1:
            images = images.view(*numbers.states.shape, *images.shape[1:])
        if numbers.single:
            return ImageBatch(images, numbers.positions)
        labels = {name: self._in_precision(label) for name, label in numbers.labels.items()}
        if LABELLED not in labels:
            return self.delivered(images, numbers.positions, labels)
        labelled = LabelledImages(images[-1], labels.pop(LABELLED))
        batch = self.delivered(_roles(images[:-1]), _roles(numbers.positions[:-1]), labels)
        return batch._replace(labelled=labelled)

    def state_dict(self) -> dict[str, int]:
        """Seed, and number of the next batch to train on."""
        return self._progress.state(self._unfinished())

    def load_state_dict(self, state_dict: dict[str, int]) -> None:
        """Continue from a state; Lightning's own loops restore loaders in mid-epoch only."""
        self._progress.restore(state_dict)

    def weights(self, split: Split) -> npt.NDArray[Any] | None:
        """Sampling weight of each state of a split; None if all are equal.

        Args:
            split: Which part of the selected states; only training follows a correlation.
        """
        return self.likelihoods(self.indices(split)) if split == "train" else None

    def likelihoods(self, states: Indices) -> npt.NDArray[np.float64] | None:
        """Sampling weight of each given state in training; None if all are equal.

        Raises:
            InputError: No state lies near the bands of the correlations.
        """
        return likelihoods(self.factors, states, self.correlation)

    def train_batch(self) -> int:
        """Examples in a training batch, over all processes."""
        return self.batch_size

    def eval_batches(self, split: Split) -> int:
        """Number of batches that evaluate a split, over all processes."""
        return -(-len(self.indices(split)) // self.eval_batch_size)

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the factors with labels, in the order of their columns; empty without labels."""
        return () if self._choice is None else self._choice.names

    def labels(self, split: Split) -> Labels | None:
        """Labelled images beside those of a split; None without labels.

        Args:
            split: Which part of the selected states; those that train are beside `train` and `all`.
        """
        return None if self._choice is None else self._choice.labels[split in _EVALUATED]

    @cached_property
    def _choice(self) -> LabelChoice | None:
        """The images with labels, if there are any."""
        if self.few_labels is None:
            return None
        if "labelled" not in getattr(self.batch_type, "_fields", ()):
            raise InputError(
                f"{type(self).__name__} delivers {self.batch_type.__name__}, which holds no labels "
                "beside its images; leave out few_labels, or use another data module, such as "
                "SingleData"
            )
        states = self.indices("train")
        return LabelChoice(
            self.few_labels, self.factors, self.indices("all"), states, self.weights("train")
        )

    def _labelled(self, plan: IndexPlan, split: Split, in_turn: bool = False) -> IndexPlan:
        """The plan, with labelled images beside its draws if there are labels."""
        labels = self.labels(split)
        return plan if labels is None else LabelledPlan(plan, labels, in_turn)

    def _ordered(
        self, split: Split, states: Indices, size: int
    ) -> OrderedBatches | FixedBatches | None:
        """Batches of given states in order; None if examples are drawn instead.

        Args:
            split: The split of the states.
            states: State numbers.
            size: Images in a batch; the last one may be smaller.
        """
        if self.batch_type is not ImageBatch:
            return None
        if self._choice is None:
            return OrderedBatches(states, size)
        return FixedBatches(self._labelled(InOrder(states), split, True), size, self.split_seed)

    @cached_property
    def _splits(self) -> dict[Split, Indices]:
        return split_states(
            self.dataset,
            self.include,
            self.hold_out,
            self.validation,
            self.test,
            self.split_seed,
            self.batch_size,
        )

    def _plan_of(self, split: Split) -> IndexPlan:
        if split not in self._plans:
            plan = self.plan(split)
            check_methods(type(plan), IndexPlan)
            self._plans[split] = self._labelled(plan, split)
        return self._plans[split]

    def _eval_loader(self, split: Split) -> EvalLoader:
        """Every state once, in order, for single images; else as many random examples as states."""
        states = self.indices(split)
        batches: OrderedBatches | FixedBatches | None = OrderedBatches(states, self.eval_batch_size)
        if len(states):
            batches = self._ordered(split, states, self.eval_batch_size)
        if batches is None:
            examples = min(self.eval_batch_size, len(states))
            batches = FixedBatches(self._plan_of(split), examples, self.split_seed)
        numbers = in_turn(self.eval_batches(split), *world())
        return EvalLoader(self._source(batches), numbers, self.num_workers)

    def _source(self, batches: TrainBatches | FixedBatches | OrderedBatches) -> Source:
        return Source(self.dataset, batches, not self._gathering.late)

    def _unfinished(self) -> int:
        """Number of batches returned but not trained on, as after an exception in a step."""
        if self.trainer is None:
            return 0
        return batches_unfinished(self.trainer)

    def _in_precision(self, numbers: Tensor) -> Tensor:
        """Fractions in the trainer's precision; integers unchanged."""
        if self.trainer is None or not numbers.is_floating_point():
            return numbers
        # one tensor at a time: the plugin's walk through a batch takes as long as making its images
        return cast("Tensor", self.trainer.precision_plugin.convert_input(numbers))

    def _check(self) -> None:
        check_count("batch_size", self.batch_size, 1)
        check_count("eval_batch_size", self.eval_batch_size, 1)
        if self.steps_per_epoch is not None:
            check_count("steps_per_epoch", self.steps_per_epoch, 1)
        check_count("num_workers", self.num_workers, 0, most=1024)
        if min(self.validation, self.test) < 0 or self.validation + self.test >= 1:
            raise InputError(
                f"validation {self.validation} and test {self.test} are fractions of the states; "
                "neither may be negative, and together they must leave some for training"
            )
        needing = self.batch_type is not ImageBatch
        if (needing or self.few_labels is not None) and self.factors.names == (UNLABELLED,):
            needs = type(self).__name__ if needing else "few_labels"
            raise InputError(
                f"{needs} needs images with factors, and these have none; use "
                "SingleData, or give their factors"
            )
        if self.factors.incomplete and not self.takes_gaps:
            raise InputError(
                f"{type(self).__name__} draws images by their factors, and some images have no "
                f"value of {', '.join(self.factors.incomplete)}; use SingleData, or set the "
                "data set's gaps to drop"
            )
        if self.correlation is not None:
            check_correlations(self.factors, self.correlation)
        _ = self._splits  # refuses too few states
        _ = self._choice  # refuses labels that cannot be had


def _roles(rows: Tensor) -> Tensor:
    """The rows without the axis of roles where all images play the same one."""
    return rows[0] if len(rows) == 1 else rows
