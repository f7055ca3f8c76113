"""Contract of the data modules."""

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

import lightning.pytorch as pl
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base.dataset import Dataset
from dislab.base.parts import ImageShape
from dislab.factors import FactorSpace, Indices

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


class DataModule(pl.LightningDataModule, ABC):
    """A supervision: which states make up a batch.

    A concrete class draws *state numbers* and gathers images last, in one place. The draws of a
    step depend on (seed, step) alone.
    """

    dataset: Dataset

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
