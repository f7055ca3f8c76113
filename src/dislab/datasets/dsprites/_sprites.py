"""The packed dSprites images and the methods that `DSprites` and its variants share.

The reader of the published archive checks its structure and unpickles nothing.
"""

import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import Dataset, ImageShape
from dislab.datasets.bank.bank import (
    BankSpec,
    Blocks,
    Rows,
    bank_record,
    host_rows,
    open_bank,
    prepare_bank,
)
from dislab.datasets.dsprites import _render as renderer
from dislab.datasets.files.npz import array_blocks, open_array, read_array
from dislab.datasets.files.published import Source, check_source
from dislab.errors import InputError, missing, one_line
from dislab.factors import Factor, FactorSpace, Indices
from dislab.storage import cache_file, download

FILE_NAME: Final = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
URL: Final = f"https://github.com/google-deepmind/dsprites-dataset/raw/master/{FILE_NAME}"


def official_rows(path: Path, space: FactorSpace) -> Iterator[npt.NDArray[np.uint8]]:
    """The images of the published archive in order, bit-packed in rows of 512 bytes.

    Nothing in the archive is unpickled.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _check_classes(archive, path, space)
            yield from _packed(archive, path, len(space))
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise InputError(
            f"{path} is no readable npz archive: {one_line(error)}; it may be cut; "
            f"fetch it again from {URL}"
        ) from error


def _check_classes(archive: zipfile.ZipFile, path: Path, space: FactorSpace) -> None:
    """Checks the labels: one colour, then the factors' value numbers in row-major order."""
    refuse = partial(_refusal, path)
    shape = (len(space), 1 + len(space.factors))
    header = open_array(archive, "latents_classes", np.int64, shape, refuse)
    classes = read_array(header, "latents_classes", refuse)
    expected = space.positions(np.arange(len(space)))
    wrong = np.flatnonzero((classes[:, 1:] != expected).any(axis=1) | (classes[:, 0] != 0))
    if len(wrong):
        first = wrong[0]
        raise refuse(
            f"image {first} has the classes {classes[first].tolist()} instead of "
            f"{[0, *expected[first].tolist()]}: the order is not the published one",
        )


def _packed(archive: zipfile.ZipFile, path: Path, count: int) -> Iterator[npt.NDArray[np.uint8]]:
    refuse = partial(_refusal, path)
    header = open_array(archive, "imgs", np.uint8, (count, SIDE, SIDE), refuse)
    for pixels in array_blocks(header, "imgs", refuse):
        if pixels.max() > 1:
            raise refuse(f"imgs holds the pixel {pixels.max()}; only 0 and 1 occur")
        yield np.packbits(pixels.reshape(len(pixels), -1), axis=1)


def _refusal(path: Path, what: str) -> InputError:
    return InputError(
        f"{path} is not the published dSprites archive: {what}; fetch it again from {URL}"
    )


FACTORS: Final = FactorSpace(
    (
        Factor("shape", ("square", "ellipse", "heart"), "categorical"),
        Factor("scale", (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
        Factor(
            "orientation",
            tuple(np.linspace(0, 2 * np.pi, 40).tolist()),
            "circular",
            unit="rad",
            period=2 * np.pi,
        ),
        Factor("posX", tuple(np.linspace(0, 1, 32).tolist())),
        Factor("posY", tuple(np.linspace(0, 1, 32).tolist())),
    )
)

SIDE: Final = renderer.SIDE

WHITE_PIXELS: Final = 128_328_862
"""Total number of white pixels in the published images."""

_ROW_BYTES: Final = SIDE**2 // 8
_PLACES: Final = 32 * 32
_TURNS: Final = 39

Numbers = TypeVar("Numbers", Indices, Tensor)


class SpriteBits:
    """The bit-packed images: their source, and the bank that stores them."""

    def __init__(self, source: Source, path: str | None, download: bool) -> None:
        check_source(source, path, download)
        self.source = source
        self.path = path
        self.download = download
        self._tables: dict[str, Tensor] = {}

    def prepare(self) -> None:
        """Makes sure that the packed images are in the cache folder."""
        if self._is_official() and self.download and self._archive() is None:
            download(URL, cache_file(FILE_NAME))
        prepare_bank(self._spec())

    def tables(self) -> dict[str, Tensor]:
        """The packed images as `bits`, 512 bytes per state."""
        if not self._tables:
            self._tables = {"bits": open_bank(self._spec())}
        return self._tables

    def record(self) -> dict[str, str]:
        """Source, renderer version, checksum of the packed images and their white pixels."""
        return bank_record(self._spec())

    def __getstate__(self) -> dict[str, Any]:
        """Everything except the mapped images, which another process maps itself."""
        return {**self.__dict__, "_tables": {}}

    def _spec(self) -> BankSpec:
        shape = (len(FACTORS), _ROW_BYTES)
        if self._is_official():
            origin = {"source": "official", "file": FILE_NAME}
            path = cache_file("dsprites/official.npy")
            return BankSpec(path, shape, origin, self._official, WHITE_PIXELS)
        origin = {"source": "rendered", "renderer": str(renderer.VERSION)}
        path = cache_file(f"dsprites/rendered-{renderer.VERSION}.npy")
        return BankSpec(path, shape, origin, Blocks(renderer.BLOCK, _rendered))

    def _is_official(self) -> bool:
        if self.source != "auto":
            return self.source == "official"
        return self._archive() is not None or cache_file("dsprites/official.npy").is_file()

    def _archive(self) -> Path | None:
        """The published file, if it is found."""
        if self.path is not None:
            file = Path(self.path).expanduser()
            if not file.is_file():
                raise InputError(f"the file {missing(file, 'path', FILE_NAME)}")
            return file
        cached = cache_file(FILE_NAME)
        return cached if cached.is_file() else None

    def _official(self) -> Iterator[Rows]:
        archive = self._archive()
        if archive is None:
            raise InputError(
                f"the published dSprites file is not at {cache_file(FILE_NAME)}; put it "
                f"there (it is published at {URL}), give its path, set download to true "
                "(`--data.dataset.download true`), or set source to rendered"
            )
        return official_rows(archive, FACTORS)


def masks(
    tables: dict[str, Tensor], index: Int[Tensor, " batch"]
) -> UInt8[Tensor, "batch 1 64 64"]:
    """Images by number, 255 inside the shape and 0 outside, on the device of tables and index."""
    # the negative of 1 is 255
    return bits(tables, index).neg_()


def bits(tables: dict[str, Tensor], index: Int[Tensor, " batch"]) -> UInt8[Tensor, "batch 1 64 64"]:
    """Images by number, 1 inside the shape and 0 outside, on the device of tables and index."""
    shape = (index.shape[0], 1, SIDE, SIDE)  # ten times as fast as len()
    if index.device.type == "cpu":
        # no names for intermediate tensors, as keeping them alive would cost a quarter more
        pixels = np.unpackbits(host_rows(tables["bits"], index))
        return torch.from_numpy(pixels.reshape(shape))
    return unpacked(tables["bits"][index]).view(shape)


def first_turn(index: Numbers) -> Numbers:
    """States with orientation 2π replaced by 0, which gives the same image."""
    turns = (index // _PLACES) % (_TURNS + 1) // _TURNS
    return index - turns * (_TURNS * _PLACES)


def unpacked(rows: UInt8[Tensor, "batch byte"]) -> UInt8[Tensor, "batch byte 8"]:
    """The bits of each byte, highest first, on any device."""
    shifts = torch.arange(7, -1, -1, device=rows.device, dtype=torch.uint8)
    return (rows.unsqueeze(-1) >> shifts) & 1


def _rendered(start: int, stop: int) -> Rows:
    return renderer.packed_block(renderer.form(start))


class Sprites(Dataset):
    """The 737,280 states of dSprites, with bit-packed images in the cache folder.

    A concrete class sets `_bits` in its constructor and implements `gather`. A variant with
    additional tables or settings adds them to the results of `tables` and `provenance`.
    """

    channels: ClassVar[int] = 3

    _bits: SpriteBits

    @property
    def factors(self) -> FactorSpace:
        """Shape, scale, orientation, posX and posY; the last one counts fastest."""
        return FACTORS

    @property
    def image_shape(self) -> ImageShape:
        """Channels, 64 rows, 64 columns."""
        return (self.channels, SIDE, SIDE)

    def prepare(self) -> None:
        """Renders images into the cache folder, or downloads and checks the published file."""
        self._bits.prepare()

    def tables(self) -> dict[str, Tensor]:
        """The packed images as `bits`, 512 bytes per state."""
        return self._bits.tables()

    def provenance(self) -> dict[str, str]:
        """Source, renderer version, checksum of the packed images and their white pixels."""
        return self._bits.record()

    def canonical(self, index: Indices) -> Indices:
        """State numbers with orientation 2π replaced by 0, which gives the same image."""
        return first_turn(index)
