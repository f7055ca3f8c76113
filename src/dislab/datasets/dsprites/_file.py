"""Reader of the published dSprites archive: checks the structure, then reads images in chunks."""

import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from dislab.datasets.files.npz import array_blocks, open_array, read_array
from dislab.errors import InputError
from dislab.factors import FactorSpace

FILE_NAME: Final = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
URL: Final = f"https://github.com/google-deepmind/dsprites-dataset/raw/master/{FILE_NAME}"

_SIDE: Final = 64


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
            f"{path} is no readable npz archive: {error}; it may be cut; fetch it again from {URL}"
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
    header = open_array(archive, "imgs", np.uint8, (count, _SIDE, _SIDE), refuse)
    for pixels in array_blocks(header, "imgs", refuse):
        if pixels.max() > 1:
            raise refuse(f"imgs holds the pixel {pixels.max()}; only 0 and 1 occur")
        yield np.packbits(pixels.reshape(len(pixels), -1), axis=1)


def _refusal(path: Path, what: str) -> InputError:
    return InputError(
        f"{path} is not the published dSprites archive: {what}; fetch it again from {URL}"
    )
