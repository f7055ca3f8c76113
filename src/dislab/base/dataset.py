"""Contract of the data sets."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from dislab.base.parts import ImageShape
from dislab.base.torch_images import TorchImages
from dislab.factors import FactorSpace, Indices
from dislab.functional.settings import checks_settings


class Dataset(ABC):
    """Images with known factors. Constructing one touches no file.

    An image is a function of its number and of *tables*: arrays on disk that are mapped into
    memory on the host, or copied to an accelerator once, so that a batch is gathered where the
    tables are.
    """

    licence: ClassVar[str] = "unstated"
    """Licence of the images, in a few words."""
    citation: ClassVar[str] = ""
    """Whom to cite: authors, year, title and address."""
    size: ClassVar[int | None] = None
    """Bytes that the prepared images take in the cache folder, at the default settings."""
    contents: ClassVar[str] = ""
    """Images and factors in one line, for lists that construct nothing."""
    drawn: ClassVar[str] = ""
    """Comparison of drawn images with published ones, in a few words; empty unless both exist."""
    untried: ClassVar[bool] = False
    """Whether its reader was only tested on files in imitation of the published ones."""
    cache: ClassVar[str] = ""
    """Name of the folder or file in the cache folder; empty where nothing is kept."""

    def __init_subclass__(cls) -> None:
        """Lets every constructor refuse settings of the wrong kind."""
        super().__init_subclass__()
        checks_settings(cls)

    @property
    @abstractmethod
    def factors(self) -> FactorSpace:
        """The states, one for each image."""

    @property
    @abstractmethod
    def image_shape(self) -> ImageShape:
        """Channels, height and width."""

    @abstractmethod
    def prepare(self) -> None:
        """Makes sure that the data are on disk; safe to call again and from several processes.

        Raises:
            InputError: The data cannot be obtained; the message lists the places searched.
        """

    @abstractmethod
    def tables(self) -> dict[str, Tensor]:
        """The arrays that images are made of, mapped from disk; after `prepare`.

        Raises:
            InputError: The data have not been prepared.
        """

    @abstractmethod
    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number, on the device of tables and index.

        Args:
            tables: Result of `tables`, moved to the device of `index`.
            index: State numbers.
        """

    def scaled(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Images by number as a network receives them, pixels in [0, 1] as float32.

        Override this where it can be faster than through the bytes of `gather`.

        Args:
            tables: Result of `tables`, moved to the device of `index`.
            index: State numbers.
        """
        return self.gather(tables, index).float().div_(255)

    @abstractmethod
    def provenance(self) -> dict[str, str]:
        """Origin of the images, for the records of a run: source, version, checksum."""

    def canonical(self, index: Indices) -> Indices:
        """For each state, the first state with the same image.

        A split never parts two states whose images are equal. The default says that all images
        differ.

        Args:
            index: State numbers.
        """
        return index

    def values(self, index: Indices) -> npt.NDArray[np.float64]:
        """Values of the factors in their units, one column a factor; kinds as value numbers.

        The default takes them from `factors`. A data set whose images lie off that grid has the
        exact ones here.

        Args:
            index: State numbers.
        """
        return self.factors.values(self.factors.positions(index))

    def images(self, index: Int[Tensor, " batch"]) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number, on the host; after `prepare`.

        Args:
            index: State numbers.
        """
        return self.gather(self.tables(), index.to(torch.device("cpu")))

    def as_torch(self) -> TorchImages:
        """The images and their factors as a data set of torch, for code outside of dislab.

        Items are an image, pixels in [0, 1], and the value number of each factor. The data set is
        prepared first.

        Raises:
            InputError: The data cannot be obtained.
        """
        self.prepare()
        return TorchImages(self)
