"""Images of a data set as a bank of pixels: what the classes of published sets share."""

import math
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import ImageShape
from dislab.datasets._bank import Plan, Rows, bank_record, bank_rows, open_bank, prepare_bank
from dislab.storage import cache_folder

_TABLE: Final = "pixels"


class Pictures(NamedTuple):
    """What the images of a bank are, and where they come from.

    Attributes:
        name: Name of the bank in the cache folder, folders included.
        images: Number of images.
        shape: Channels, height and width of an image.
        origin: Source and settings: plain strings.
        blocks: Makes the images in the order of the states, some at a time: rows of bytes,
            channels first.
    """

    name: str
    images: int
    shape: ImageShape
    origin: dict[str, str]
    blocks: Callable[[], Iterable[Rows]]


class ImageBank:
    """The bank of a data set, made once, opened once in each process.

    Args:
        pictures: Says what the images are; called when that is first needed.
    """

    def __init__(self, pictures: Callable[[], Pictures]) -> None:
        self._pictures = pictures
        self._tables: dict[str, Tensor] = {}

    def prepare(self) -> None:
        """Writes the bank, unless a sound one is there.

        Raises:
            InputError: The published files are missing or broken, or the bank cannot be written.
        """
        prepare_bank(self._plan())

    def tables(self) -> dict[str, Tensor]:
        """The images as `pixels`, a row of bytes a state.

        Raises:
            InputError: The bank is missing or damaged.
        """
        if not self._tables:
            self._tables = {_TABLE: open_bank(self._plan())}
        return self._tables

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number, on the device of tables and index.

        Args:
            tables: What `tables` returned, moved to the device of `index`.
            index: State numbers.
        """
        return bank_rows(tables[_TABLE], index).view(len(index), *self._pictures().shape)

    def provenance(self) -> dict[str, str]:
        """Source, settings and checksum of the bank.

        Raises:
            InputError: The bank is missing or damaged.
        """
        return bank_record(self._plan())

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the mapped images: another process maps them itself."""
        return {**self.__dict__, "_tables": {}}

    def _plan(self) -> Plan:
        name, images, shape, origin, blocks = self._pictures()
        path = cache_folder() / f"{name}.npy"
        return Plan(path, (images, math.prod(shape)), origin, blocks, packed=False)
