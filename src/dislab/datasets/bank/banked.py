"""Base of the data sets whose images are rows of bytes of one bank."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Final, NamedTuple

from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import Dataset
from dislab.base.pixels import blocks_of, check_contents
from dislab.datasets.bank.bank import (
    BankSpec,
    Blocks,
    Rows,
    bank_record,
    bank_rows,
    open_bank,
    prepare_bank,
)
from dislab.storage import cache_file

_TABLE: Final = "pixels"


class Pictures(NamedTuple):
    """Name, number, source and maker of the images of a bank.

    Attributes:
        name: Name of the bank in the cache folder, including folders.
        images: Number of images.
        origin: Source and settings as plain strings.
        blocks: Makes the images in the order of the states, as rows of bytes, channels first: in
            chunks, or in numbered blocks.
    """

    name: str
    images: int
    origin: dict[str, str]
    blocks: Callable[[], Iterable[Rows]] | Blocks


class BankedDataset(Dataset):
    """A data set with its images in a bank, which is made once and opened once per process.

    A concrete class has a constructor, `factors`, `image_shape` and `_pictures`, which
    describes the bank.
    """

    def prepare(self) -> None:
        """Makes sure that the images are in the cache folder.

        Raises:
            InputError: Files that the images are read from are missing, cannot be fetched or are
                not the published ones, the cache folder cannot be written to, or the pixels are 0
                and 1 of 255.
        """
        spec = self._spec()
        prepare_bank(spec)
        check_contents(f"images of {type(self).__name__}", blocks_of(open_bank(spec).numpy()))

    def tables(self) -> dict[str, Tensor]:
        """The images as `pixels`, one row of bytes per state.

        Raises:
            InputError: The images have not been prepared, or their file was damaged since.
        """
        return {_TABLE: self._pixels}

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number, on the device of tables and index."""
        return bank_rows(tables[_TABLE], index).view(len(index), *self.image_shape)

    def provenance(self) -> dict[str, str]:
        """Source, settings and checksum of the images.

        Raises:
            InputError: The images have not been prepared, or their file was damaged since.
        """
        return bank_record(self._spec())

    def __getstate__(self) -> dict[str, Any]:
        """Only the settings: another process derives the rest, and maps the images itself."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }

    @abstractmethod
    def _pictures(self) -> Pictures: ...

    @cached_property
    def _pixels(self) -> UInt8[Tensor, "row byte"]:
        return open_bank(self._spec())

    def _spec(self) -> BankSpec:
        name, images, origin, blocks = self._pictures()
        path = cache_file(f"{name}.npy")
        return BankSpec(path, (images, math.prod(self.image_shape)), origin, blocks, packed=False)
