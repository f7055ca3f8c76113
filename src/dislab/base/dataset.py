"""Contract of the data sets."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from dislab.base.parts import ImageShape, is_vector
from dislab.errors import InputError
from dislab.factors import FactorSpace, Indices
from dislab.naming.settings import Part

Rows = UInt8[Tensor, "batch channel height width"] | Float[Tensor, "batch feature 1 1"]
"""Images as bytes, or vectors as float32 of any range."""

Item = tuple[Float[Tensor, "channel height width"], Int[Tensor, " factor"]]


def fractions(rows: Rows) -> Float[Tensor, "batch channel height width"]:
    """Pixels in [0, 1] from pixels of 0 to 255; vectors, which are floats, unchanged.

    Args:
        rows: Images or vectors.
    """
    return rows if rows.is_floating_point() else rows.float().div_(255)


def image_shape_of(dataset: "Dataset") -> ImageShape:
    """Channels, height and width of the images of a data set.

    Args:
        dataset: The data set.

    Raises:
        InputError: They are no tuple of three whole numbers from 1.
    """
    shape: object = dataset.image_shape
    if (
        isinstance(shape, tuple)
        and len(shape) == 3
        and all(
            isinstance(size, int | np.integer) and not isinstance(size, bool) and size > 0
            for size in shape
        )
    ):
        return shape
    raise InputError(
        f"image_shape of {type(dataset).__name__} is {shape!r}; give the tuple (channels, height, "
        "width) of whole numbers, such as (1, 64, 64) of grey images"
    )


def check_rows(dataset: "Dataset", rows: object) -> None:
    """Refuses what `gather` returns unless it has the type and the shape of the contract.

    Args:
        dataset: The data set.
        rows: What its `gather` returned.

    Raises:
        InputError: They are neither images as bytes nor vectors as floats, or of another shape.
    """
    name, shape = f"gather of {type(dataset).__name__}", image_shape_of(dataset)
    if not isinstance(rows, Tensor):
        remedy = ": torch.from_numpy(images)" if isinstance(rows, np.ndarray) else ""
        raise InputError(
            f"{name} returned {type(rows).__name__}; it must return a torch.Tensor{remedy}"
        )
    if rows.ndim != 4 or tuple(rows.shape[1:]) != shape:
        given = tuple(rows.shape)
        remedy = ""
        if given[1:] == (*shape[1:], shape[0]):
            remedy = ": put the channels first by images.permute(0, 3, 1, 2)"
        raise InputError(
            f"{name} returned the shape {given}; it must be (batch, "
            f"{', '.join(map(str, shape))}), as image_shape says{remedy}"
        )
    if rows.dtype == torch.uint8 or (is_vector(shape) and rows.dtype == torch.float32):
        return
    if is_vector(shape):
        raise InputError(
            f"{name} returned vectors as {rows.dtype}; they must be torch.float32: convert "
            "vectors.float()"
        )
    convert = "images.to(torch.uint8)"
    if rows.is_floating_point():
        convert = "fractions in [0, 1] by (images * 255).round().to(torch.uint8)"
    elif rows.dtype == torch.bool:
        convert += " * 255"
    raise InputError(
        f"{name} returned images as {rows.dtype}; they must be torch.uint8, from 0 to 255, which "
        f"dislab divides by 255: convert {convert}"
    )


class TorchImages(torch.utils.data.Dataset[Item]):
    """The images of a data set with the positions of their factors, for torch's `DataLoader`.

    An item is an image, pixels in [0, 1] as float32, and the value number of each of its factors;
    `factors.values(positions)` gives the values in their units. A loader gathers a whole batch in
    one call. Worker processes open the images themselves.

    Args:
        dataset: The data set, prepared.
    """

    def __init__(self, dataset: "Dataset") -> None:
        self.dataset = dataset
        self.factors = dataset.factors

    def __len__(self) -> int:
        """Number of states, one per image."""
        return len(self.factors)

    def __getitem__(self, index: int) -> Item:
        """Image and positions of a state; a negative number counts from the end.

        Raises:
            IndexError: There is no such state.
        """
        return self.__getitems__([index])[0]

    def __getitems__(self, numbers: Sequence[int]) -> list[Item]:
        """Images and positions of several states, gathered together.

        Raises:
            IndexError: There is no such state.
        """
        count = len(self)
        for state in numbers:
            if not -count <= state < count:
                raise IndexError(f"state {state} of {count}")
        index = torch.tensor([int(state) % count for state in numbers], dtype=torch.int64)
        images = self.dataset.scaled(self.dataset.tables(), index)
        positions = torch.from_numpy(self.factors.positions(index.numpy()))
        return list(zip(images, positions, strict=True))


class Dataset(Part, ABC):
    """Images, or vectors, with known factors. The constructor touches no file.

    An image is a function of its number and of *tables*: arrays on disk that are memory-mapped on
    the host, or copied to an accelerator once. A batch is gathered on the device of the tables.
    """

    licence: ClassVar[str] = "unstated"
    """Licence of the images, in a few words."""
    citation: ClassVar[str] = ""
    """Citation: authors, year, title and address."""
    size: ClassVar[int | None] = None
    """Size in bytes of the prepared images in the cache folder, at the default settings."""
    contents: ClassVar[str] = ""
    """Images and factors in one line, for lists made without constructing the data set."""
    drawn: ClassVar[str] = ""
    """Comparison of drawn images with published ones, in a few words; empty unless both exist."""
    untried: ClassVar[bool] = False
    """Whether its reader was tested only on imitations of the published files."""
    cache: ClassVar[str] = ""
    """Name of its folder or file in the cache folder; empty if nothing is cached."""

    def __repr__(self) -> str:
        """The class, the number and shape of its images, and its factors with their sizes."""
        name = type(self).__name__
        try:
            shape, space = "×".join(map(str, self.image_shape)), self.factors
        except InputError:  # the files are read first
            return f"<{name}, not prepared>"
        texts = [f"{factor.name} {len(factor)}" for factor in space.factors if not factor.nuisance]
        others = [f"{factor.name} {len(factor)}" for factor in space.factors if factor.nuisance]
        factors = ", ".join(texts) + (f" (not scored: {', '.join(others)})" if others else "")
        return f"<{name}: {len(space):,} images of {shape}; factors {factors}>"

    def __bool__(self) -> bool:
        """True, whether it is prepared or not."""
        return True

    def __len__(self) -> int:
        """Number of states, one per image.

        Raises:
            InputError: The data have not been prepared, and only they tell the number.
        """
        return len(self.factors)

    def __getitem__(self, index: object) -> NoReturn:
        """Refuses to be indexed, also by torch's `DataLoader`.

        Raises:
            InputError: Always; the message names what gives images.
        """
        name = type(self).__name__
        raise InputError(
            f"{name} is a data set of {len(self):,} images, which takes no index; its prepare() "
            "and images(torch.tensor([0, 1])) give images, its as_torch()[0] one with its factors, "
            f"and torch's DataLoader takes {name}(…).as_torch()"
        )

    def __iter__(self) -> NoReturn:
        """Refuses to be a trainer's loader, which asks for an iterator first.

        Raises:
            InputError: Always; the message names what delivers batches.
        """
        name = type(self).__name__
        raise InputError(
            f"{name} is a data set, which has no batches; a trainer takes a data module, and "
            f"dislab.datamodules.SingleData makes one of a data set; torch's DataLoader "
            f"takes {name}(…).as_torch()"
        )

    @property
    @abstractmethod
    def factors(self) -> FactorSpace:
        """The factors and states, one state per image."""

    @property
    @abstractmethod
    def image_shape(self) -> ImageShape:
        """Channels, height and width."""

    @abstractmethod
    def prepare(self) -> None:
        """Ensures that the data are on disk; safe to call repeatedly and from several processes.

        Raises:
            InputError: The data cannot be obtained; the message lists the places searched.
        """

    @abstractmethod
    def tables(self) -> dict[str, Tensor]:
        """The arrays that images are made of, memory-mapped from disk; call `prepare` first.

        Raises:
            InputError: The data have not been prepared.
        """

    @abstractmethod
    def gather(self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]) -> Rows:
        """Images by number, on the device of tables and index; of vectors, finite floats.

        Args:
            tables: Result of `tables`, moved to the device of `index`.
            index: State numbers.
        """

    def scaled(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Images by number as a network receives them, pixels in [0, 1] as float32.

        Vectors keep their numbers. Override it if a direct computation is faster than converting
        the bytes of `gather`.

        Args:
            tables: Result of `tables`, moved to the device of `index`.
            index: State numbers.

        Raises:
            InputError: `gather` returned another type or shape.
        """
        return fractions(self._gathered(tables, index))

    @property
    def equal_files(self) -> int:
        """Number of image files with the bytes of another one; 0 if that is not known."""
        return 0

    @abstractmethod
    def provenance(self) -> dict[str, str]:
        """Origin of the images for the run's records: `source`, and what determines them.

        That is the version and checksum of files, or the settings of computed images.
        """

    def canonical(self, index: Indices) -> Indices:
        """For each state, the first state with the same image.

        A split never separates two states with equal images. By default all images differ.

        Args:
            index: State numbers.
        """
        return index

    def image_ids(self, index: Indices) -> dict[str, npt.NDArray[Any]]:
        """Identification of images where they came from, to join codes with other data.

        Images of a folder have `files`, their names relative to it; those of a user's array or
        table have `rows`, their numbers in it. Others have nothing: their states are documented.

        Args:
            index: State numbers.
        """
        return {}

    def values(self, index: Indices) -> npt.NDArray[np.float64]:
        """Factor values in their units, one column per factor; categorical ones as value numbers.

        By default they come from `factors`. A data set whose images deviate from that grid returns
        the exact values here.

        Args:
            index: State numbers.
        """
        return self.factors.values(self.factors.positions(index))

    def images(self, index: Int[Tensor, " batch"]) -> Rows:
        """Images by number, on the host; call `prepare` first.

        Args:
            index: State numbers.

        Raises:
            InputError: `gather` returned another type or shape.
        """
        return self._gathered(self.tables(), index.to(torch.device("cpu")))

    def _gathered(self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]) -> Rows:
        """What `gather` returns, with the type and the shape of the contract."""
        rows = self.gather(tables, index)
        check_rows(self, rows)
        return rows

    def as_torch(self) -> TorchImages:
        """The images and their factors as a PyTorch data set, for code outside of dislab.

        Items are an image, pixels in [0, 1], and the value number of each factor. The data set is
        prepared first.

        Raises:
            InputError: The data cannot be obtained.
        """
        self.prepare()
        return TorchImages(self)
