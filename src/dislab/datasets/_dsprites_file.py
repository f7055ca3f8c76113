"""Reader of the published dSprites archive: structure first, then images, a few at a time."""

import zipfile
import zlib
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import Final, cast

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError
from dislab.factors import FactorSpace

FILE_NAME: Final = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
URL: Final = f"https://github.com/google-deepmind/dsprites-dataset/raw/master/{FILE_NAME}"

_SIDE: Final = 64
_IMAGES_AT_A_TIME: Final = 1024


def official_rows(path: Path, space: FactorSpace) -> Iterator[npt.NDArray[np.uint8]]:
    """The images of the published archive in its order, packed to bits, rows of 512 bytes.

    Nothing in the archive is unpickled.

    Args:
        path: The archive.
        space: The factors that its images must enumerate.

    Raises:
        InputError: The file is no such archive, or it is cut or altered.
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
    """Refuses labels that are not: one colour, then the factors' values in row-major order."""
    shape = (len(space), 1 + len(space.factors))
    with _member(archive, path, "latents_classes", np.dtype(np.int64), shape) as stream:
        content = stream.read()
    if len(content) != np.prod(shape) * np.dtype(np.int64).itemsize:
        raise _refusal(path, f"latents_classes has {len(content)} bytes behind its header")
    classes = np.frombuffer(content, dtype=np.int64).reshape(shape)
    expected = space.positions(np.arange(len(space)))
    wrong = np.flatnonzero((classes[:, 1:] != expected).any(axis=1) | (classes[:, 0] != 0))
    if len(wrong):
        first = wrong[0]
        raise _refusal(
            path,
            f"image {first} has the classes {classes[first].tolist()} instead of "
            f"{[0, *expected[first].tolist()]}: the order is not the published one",
        )


def _packed(archive: zipfile.ZipFile, path: Path, count: int) -> Iterator[npt.NDArray[np.uint8]]:
    shape = (count, _SIDE, _SIDE)
    with _member(archive, path, "imgs", np.dtype(np.uint8), shape) as stream:
        for start in range(0, count, _IMAGES_AT_A_TIME):
            rows = min(_IMAGES_AT_A_TIME, count - start)
            pixels = np.frombuffer(stream.read(rows * _SIDE**2), dtype=np.uint8)
            if pixels.size != rows * _SIDE**2:
                raise _refusal(path, f"imgs ends within images {start} to {start + rows - 1}")
            if pixels.max() > 1:
                raise _refusal(path, f"imgs holds the pixel {pixels.max()}; only 0 and 1 occur")
            yield np.packbits(pixels.reshape(rows, -1), axis=1)
        if stream.read(1):
            raise _refusal(path, f"imgs goes on behind image {count - 1}")


def _member(
    archive: zipfile.ZipFile,
    path: Path,
    name: str,
    dtype: np.dtype[np.generic],
    shape: tuple[int, ...],
) -> BufferedIOBase:
    """One array of the archive, opened behind its header, which must be as expected."""
    file = f"{name}.npy"
    if file not in archive.namelist():
        raise _refusal(path, f"it has no array {name}, only {', '.join(archive.namelist())}")
    stream = cast("BufferedIOBase", archive.open(file))
    try:
        version = np.lib.format.read_magic(stream)
        read = {(1, 0): np.lib.format.read_array_header_1_0}.get(
            version, np.lib.format.read_array_header_2_0
        )
        found_shape, fortran, found = read(stream)
    except ValueError as error:
        stream.close()
        raise _refusal(path, f"{name} has no valid header: {error}") from error
    if found != dtype or found_shape != shape or fortran:
        stream.close()
        what = "pickled objects" if found.hasobject else f"{found} of shape {found_shape}"
        order = " in column-major order" if fortran else ""
        raise _refusal(path, f"{name} is {what}{order} instead of {dtype} of shape {shape}")
    return stream


def _refusal(path: Path, what: str) -> InputError:
    return InputError(
        f"{path} is not the published dSprites archive: {what}; fetch it again from {URL}"
    )
