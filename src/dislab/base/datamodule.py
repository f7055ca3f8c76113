"""Contract of the data modules."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias

import lightning.pytorch as pl
import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base.dataset import Dataset
from dislab.base.parts import ImageShape
from dislab.errors import InputError
from dislab.factors import FactorSpace, Indices, Selection
from dislab.functional.random import host_generator
from dislab.naming.settings import Part, checks_fields

States: TypeAlias = Sequence[int] | npt.NDArray[Any] | Tensor
"""State numbers."""

Split = Literal["train", "validation", "test", "all"]
"""A part of the selected states; `all` is the union of the other three."""


@checks_fields
class LabelledImages(NamedTuple):
    """Images with labels, beside the other images of a batch: few labels.

    Attributes:
        image: Pixels in [0, 1], shape (batch, channel, height, width).
        labels: Labels in [0, 1] as float32, one column for each labelled factor, NaN for no value,
            shape (batch, label).
    """

    image: Tensor
    labels: Tensor


@checks_fields
class ImageBatch(NamedTuple):
    """Single images, as an objective receives them.

    Attributes:
        image: Pixels in [0, 1], shape (batch, channel, height, width).
        factors: Positions: value numbers, -1 for no value, shape (batch, factor); without factors
            `torch.zeros(len(image), 0, dtype=torch.int64)`.
        labelled: As many images with labels; empty if there are none.
    """

    image: Tensor
    factors: Tensor
    labelled: LabelledImages | tuple[()] = ()  # loaders and Lightning do not count None


@checks_fields
class PairBatch(NamedTuple):
    """Pairs of images that share some of their factors: weak supervision.

    Attributes:
        image: First images, pixels in [0, 1], shape (batch, channel, height, width).
        second: Second images, likewise.
        factors: Positions of the first images, shape (batch, factor).
        second_factors: Positions of the second images, likewise.
        changed: Which factors differ, bool, shape (batch, factor). Only an objective whose
            settings allow labels may use it.
        labelled: Images with labels, as many as there are examples; empty without.
    """

    image: Tensor
    second: Tensor
    factors: Tensor
    second_factors: Tensor
    changed: Tensor
    labelled: LabelledImages | tuple[()] = ()


@checks_fields
class TransitionBatch(NamedTuple):
    """Images before and after a change of one factor.

    Attributes:
        image: Images before, pixels in [0, 1], shape (batch, channel, height, width).
        second: Images after, likewise.
        factors: Positions before, shape (batch, factor).
        second_factors: Positions after, likewise.
        changed: Which factor changed, bool, shape (batch, factor).
        action: Index of the action in the data module's `action_names`, shape (batch,).
        labelled: Images with labels, as many as there are examples; empty without.
    """

    image: Tensor
    second: Tensor
    factors: Tensor
    second_factors: Tensor
    changed: Tensor
    action: Tensor
    labelled: LabelledImages | tuple[()] = ()


@checks_fields
class ClampedBatch(NamedTuple):
    """Images that differ in one group of factors, with all other factors fixed.

    Attributes:
        image: Pixels in [0, 1], shape (batch, channel, height, width).
        factors: Positions, shape (batch, factor).
        active: Index of the varying group in the data module's `group_names`, repeated for each
            image, shape (batch,).
        labelled: Images with labels, as many as there are examples; empty without.
    """

    image: Tensor
    factors: Tensor
    active: Tensor
    labelled: LabelledImages | tuple[()] = ()


@checks_fields
class CompositionBatch(NamedTuple):
    """References, transforms, and targets: references with one factor taken from the transform.

    Attributes:
        image: Reference images, pixels in [0, 1], shape (batch, channel, height, width).
        transform: Images that provide the new value, likewise.
        target: Reference images with one factor taken from the transform, likewise.
        factors: Positions of the references, shape (batch, factor).
        action: Index of the copied factor in the data module's `action_names`, shape (batch,).
        labelled: Images with labels, as many as there are examples; empty without.
    """

    image: Tensor
    transform: Tensor
    target: Tensor
    factors: Tensor
    action: Tensor
    labelled: LabelledImages | tuple[()] = ()


@checks_fields
class SymbolBatch(NamedTuple):
    """Images with a description.

    Attributes:
        image: Pixels in [0, 1], shape (batch, channel, height, width).
        symbol: Which attributes the description names, 0 or 1 as float32, shape (batch, symbol),
            in the order of the data module's `symbol_names`.
        factors: Positions, shape (batch, factor).
    """

    image: Tensor
    symbol: Tensor
    factors: Tensor


class DataModule(pl.LightningDataModule, Part, ABC):
    """A form of supervision: which states make up a batch.

    A concrete class draws *state numbers* first, and gathers the images in one place at the end.
    The draws of a step depend on (seed, step) only. Training, validation and test deliver
    `batch_type`; prediction always delivers single images, as `ImageBatch`.
    """

    offers: ClassVar[tuple[str, ...]] = (
        "image_shape",
        "train_size",
        "factor_names",
        "factor_sizes",
    )
    """Properties that the constructor of an objective may request by name; the command line passes
    them. A data module with further properties appends their names."""
    batch_type: ClassVar[type] = ImageBatch
    """Type of the batches of training, validation and test."""
    dataset: Dataset
    hold_out: Selection | None = None
    """The states of the test split, as conditions on factors; None for a random split."""

    def __repr__(self) -> str:
        """The class and its data set, and how many of the images are used, in which size."""
        text = f"{type(self).__name__} of {self.dataset!r}"
        with suppress(InputError):  # the files are read first
            count, size = len(self.indices("all")), self.image_shape
            if count != len(self.dataset.factors) or size != self.dataset.image_shape:
                text += f", of which {count:,} images of {'×'.join(map(str, size))} are used"
        return f"<{text}>"

    __str__ = __repr__  # Lightning's own needs loaders of torch

    @property
    def image_shape(self) -> ImageShape:
        """Channels, height and width of the images."""
        return self.dataset.image_shape

    @property
    def factors(self) -> FactorSpace:
        """The factors behind the images."""
        return self.dataset.factors

    @property
    def train_size(self) -> int:
        """Number of states in the training split."""
        return len(self.indices("train"))

    @property
    def factor_names(self) -> tuple[str, ...]:
        """Name of each factor."""
        return self.factors.names

    @property
    def factor_sizes(self) -> tuple[int, ...]:
        """Number of values of each factor."""
        return self.factors.sizes

    def prepare_data(self) -> None:
        """Ensures that the data are on disk."""
        self.dataset.prepare()

    @abstractmethod
    def indices(self, split: Split) -> Indices:
        """State numbers of a split, ascending.

        Args:
            split: Which part of the selected states.
        """

    @abstractmethod
    def images(self, index: Int[Tensor, " batch"]) -> Float[Tensor, "batch channel height width"]:
        """Images as a network receives them, pixels in [0, 1], on the device of `index`.

        Args:
            index: State numbers.
        """

    def likelihoods(self, states: Indices) -> npt.NDArray[np.float64] | None:
        """Sampling weight of each given state in training.

        None if all weights are equal, as in a data module without correlations.

        Args:
            states: State numbers, of any split.
        """
        return None

    def train_batch(self) -> int | None:
        """Examples in a training batch, over all processes; None if only its first batch tells."""
        return None

    def eval_batches(self, split: Split) -> int | None:
        """Number of batches that evaluate a split, over all processes; None if all batches count.

        Batches are dealt to the processes in turn, and each process evaluates whole batches. If a
        loader returns extra batches to give every process the same number, the losses ignore those
        beyond this number.

        Args:
            split: Which part of the selected states.
        """
        return None

    def sample_loader(self, split: Split, examples: int, seed: int) -> Iterable[Any]:
        """Batches of random examples of a split, in the same form as those of the other loaders.

        Args:
            split: Which part of the selected states.
            examples: Approximate number of examples; fewer if the split has fewer states.
            seed: Seed of the draw.

        Raises:
            InputError: The data module does not implement it.
        """
        raise InputError(
            f"{type(self).__name__} draws no sample of a split; a data module with hold_out has to "
            "implement sample_loader"
        )


def fields_of(batch: Any) -> dict[str, Any]:
    """Fields of a batch by name: of labelled images, `labelled` and `labels`, if there are any."""
    fields = dict(batch._asdict()) if hasattr(batch, "_asdict") else {}
    labelled = fields.pop("labelled", ())
    if isinstance(labelled, LabelledImages):
        return fields | {"labelled": labelled.image, "labels": labelled.labels}
    if isinstance(labelled, tuple | list) and not labelled:  # loaders make lists of tuples
        return fields
    return fields | {"labelled": labelled}


def offered() -> tuple[str, ...]:
    """Names of the properties of all imported data modules that an objective may request."""
    names = dict.fromkeys(DataModule.offers)
    modules = DataModule.__subclasses__()
    while modules:
        module = modules.pop()
        names |= dict.fromkeys(module.offers)
        modules += module.__subclasses__()
    return tuple(names)


def split_with_states(data: DataModule, split: Split) -> Split:
    """The split itself, or `all` if the data module lacks it."""
    return split if len(data.indices(split)) else "all"


_FEW: Final = 500
"""Number of states below which a split alone does not tell what latents encode."""


def state_numbers(space: FactorSpace, states: States) -> Indices:
    """State numbers of any kind as an array.

    Args:
        space: The factors.
        states: A list, an array or a tensor.

    Raises:
        InputError: They are no whole numbers, or there is no such state.
    """
    numbers = np.atleast_1d(np.asarray(states.cpu() if isinstance(states, Tensor) else states))
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
        raise InputError(f"states is {states!r}; it is a list or an array of whole numbers")
    space.positions(numbers)  # refuses numbers of no state
    return numbers.astype(np.int64)


def drawable(data: DataModule, split: Split, with_gaps: bool = False) -> Indices:
    """State numbers of a split that have a value of every factor, to be scored or shown.

    They come from all states if the data module lacks the split; `with_gaps` keeps states without
    a value of some factor.
    """
    states = data.indices(split_with_states(data, split))
    return states if with_gaps else data.factors.complete(states)


def draw_states(
    data: DataModule, split: Split, points: int, seed: int, with_gaps: bool = False
) -> Indices:
    """State numbers of a split in random order, without replacement; all if fewer than `points`.

    They are those of `drawable`.
    """
    states = drawable(data, split, with_gaps)
    return host_generator(seed).choice(states, size=min(points, len(states)), replace=False)


def split_text(data: DataModule) -> str:
    """How many images train, validate and test.

    Args:
        data: The prepared data module.
    """
    train, validation, test = (
        f"{len(data.indices(split)):,}" for split in ("train", "validation", "test")
    )
    return f"{train} train, {validation} validate, {test} test"


def draw_points(data: DataModule, split: Split, points: int, seed: int) -> Indices:
    """State numbers of `draw_states`, to tell from their codes what latents encode.

    Behind fewer than 500 states of a split come others, as information about factors takes many
    images.
    """
    states = draw_states(data, split, points, seed)
    if len(states) >= _FEW:
        return states
    others = draw_states(data, "all", points, seed)
    return np.concatenate([states, others[~np.isin(others, states)]])[:points]
