"""Contract of the data modules."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Literal, NamedTuple

import lightning.pytorch as pl
import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base.dataset import Dataset
from dislab.base.parts import ImageShape
from dislab.errors import InputError
from dislab.factors import FactorSpace, Indices, Selection
from dislab.functional.settings import checks_settings

Split = Literal["train", "validation", "test", "all"]
"""A part of the selected states; `all` is the union of the other three."""


class ImageBatch(NamedTuple):
    """Single images, as an objective receives them.

    Attributes:
        image: Pixels in [0, 1], shape (batch, channel, height, width).
        factors: Positions: value numbers, shape (batch, factor).
    """

    image: Tensor
    factors: Tensor


class PairBatch(NamedTuple):
    """Pairs of images that share some of their factors: weak supervision.

    Attributes:
        image: First images, pixels in [0, 1], shape (batch, channel, height, width).
        second: Second images, likewise.
        factors: Positions of the first images, shape (batch, factor).
        second_factors: Positions of the second images, likewise.
        changed: Which factors differ, bool, shape (batch, factor). Only an objective whose
            settings allow labels may use it.
    """

    image: Tensor
    second: Tensor
    factors: Tensor
    second_factors: Tensor
    changed: Tensor


class TransitionBatch(NamedTuple):
    """Images before and after one factor moved.

    Attributes:
        image: Images before, pixels in [0, 1], shape (batch, channel, height, width).
        second: Images after, likewise.
        factors: Positions before, shape (batch, factor).
        second_factors: Positions after, likewise.
        changed: Which factor moved, bool, shape (batch, factor).
        action: Number of the action, among the data module's `action_names`, shape (batch,).
    """

    image: Tensor
    second: Tensor
    factors: Tensor
    second_factors: Tensor
    changed: Tensor
    action: Tensor


class ClampedBatch(NamedTuple):
    """Images that differ in one group of factors, all others held.

    Attributes:
        image: Pixels in [0, 1], shape (batch, channel, height, width).
        factors: Positions, shape (batch, factor).
        active: Number of the group that varies, among the data module's `group_names`, repeated
            for each image, shape (batch,).
    """

    image: Tensor
    factors: Tensor
    active: Tensor


class CompositionBatch(NamedTuple):
    """References, transforms, and targets: the reference with one factor of the transform.

    Attributes:
        image: Reference images, pixels in [0, 1], shape (batch, channel, height, width).
        transform: Images that give the new value, likewise.
        target: Reference images with one factor taken from the transform, likewise.
        factors: Positions of the references, shape (batch, factor).
        action: Number of the factor that is taken over, among the data module's `action_names`,
            shape (batch,).
    """

    image: Tensor
    transform: Tensor
    target: Tensor
    factors: Tensor
    action: Tensor


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


class DataModule(pl.LightningDataModule, ABC):
    """A supervision: which states make up a batch.

    A concrete class draws *state numbers* and gathers images last, in one place. The draws of a
    step depend on (seed, step) alone. Training, validation and test deliver `batch_type`;
    prediction always delivers single images, as `ImageBatch`.
    """

    offers: ClassVar[tuple[str, ...]] = (
        "image_shape",
        "train_size",
        "factor_names",
        "factor_sizes",
        "group_names",
        "action_names",
        "symbol_names",
    )
    """Properties that the constructor of an objective may request by name; the command line hands
    them over. A module with more of them appends their names."""
    batch_type: ClassVar[type] = ImageBatch
    """Type of the batches of training, validation and test."""
    dataset: Dataset
    hold_out: Selection | None = None
    """The states of the test split, as conditions on factors; None where they are a random part."""

    def __init_subclass__(cls) -> None:
        """Lets every constructor refuse settings of the wrong kind."""
        super().__init_subclass__()
        checks_settings(cls)

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
        """Number of states that training draws from."""
        return len(self.indices("train"))

    @property
    def factor_names(self) -> tuple[str, ...]:
        """Name of each factor."""
        return self.factors.names

    @property
    def factor_sizes(self) -> tuple[int, ...]:
        """Number of values of each factor."""
        return self.factors.sizes

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of the groups of factors that vary together; empty for a module without."""
        return ()

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the actions; empty for a module without."""
        return ()

    @property
    def symbol_names(self) -> tuple[str, ...]:
        """Names of the attributes of a description; empty for a module without."""
        return ()

    def prepare_data(self) -> None:
        """Makes sure that the data are on disk."""
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
        """Weight of each given state in a draw of training.

        It is None where all are alike, which they are in a data module without correlations.

        Args:
            states: State numbers, of any split.
        """
        return None

    def eval_batches(self, split: Split) -> int | None:
        """Number of the batches that evaluate a split, over all processes; None if all count.

        Of each number of batches in a row, one for each process, every process evaluates its own,
        whole. Where a loader hands out more batches, so that each process has as many, those
        beyond this number are left out of the losses.

        Args:
            split: Which part of the selected states.
        """
        return None

    def sample_loader(self, split: Split, examples: int, seed: int) -> Iterable[Any]:
        """Batches of some examples of a split drawn at random, as the other loaders hand them out.

        Args:
            split: Which part of the selected states.
            examples: About how many; fewer if the split has fewer states.
            seed: Decides the draw.

        Raises:
            InputError: The data module draws no such examples.
        """
        raise InputError(
            f"{type(self).__name__} draws no sample of a split; a data module with hold_out has to "
            "implement sample_loader"
        )


def offered() -> tuple[str, ...]:
    """Names that an objective may request, of all imported data modules."""
    names = dict.fromkeys(DataModule.offers)
    modules = DataModule.__subclasses__()
    while modules:
        module = modules.pop()
        names |= dict.fromkeys(module.offers)
        modules += module.__subclasses__()
    return tuple(names)
