"""Reads arrays in npz archives sequentially, without unpickling anything."""

import zipfile
from collections.abc import Callable, Iterator
from io import BufferedIOBase
from typing import Any, Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError

_ROWS_AT_A_TIME: Final = 1024

Refusal = Callable[[str], InputError]
"""Creates the error for an archive from a description of its fault."""


class Header(NamedTuple):
    """The header of an array, and the stream of its bytes.

    Attributes:
        shape: Its shape.
        dtype: Its type.
        fortran: Whether it is in column-major order.
        stream: Its elements; the caller must close it.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    stream: BufferedIOBase


def open_header(archive: zipfile.ZipFile, name: str, refuse: Refusal) -> Header:
    """Opens an array of an archive and reads its header.

    Raises:
        InputError: The archive lacks the array, or its header is invalid.
    """
    file = f"{name}.npy"
    if file not in archive.namelist():
        raise refuse(f"it has no array {name}, only {', '.join(archive.namelist())}")
    stream = cast("BufferedIOBase", archive.open(file))
    try:
        version = np.lib.format.read_magic(stream)
        read = {(1, 0): np.lib.format.read_array_header_1_0}.get(
            version, np.lib.format.read_array_header_2_0
        )
        shape, fortran, dtype = read(stream)
    except ValueError as error:
        stream.close()
        raise refuse(f"{name} has no valid header: {error}") from error
    return Header(shape, dtype, fortran, stream)


def open_array(
    archive: zipfile.ZipFile,
    name: str,
    dtype: npt.DTypeLike,
    shape: tuple[int | None, ...],
    refuse: Refusal,
) -> Header:
    """Opens an array of an archive, and checks its type and shape.

    None in `shape` allows any length; `refuse` makes the error.

    Raises:
        InputError: The archive lacks the array, or its header is not the expected one.
    """
    header = open_header(archive, name, refuse)
    fits = len(header.shape) == len(shape) and all(
        length in (None, actual) for length, actual in zip(shape, header.shape, strict=True)
    )
    if header.dtype != np.dtype(dtype) or not fits or header.fortran:
        header.stream.close()
        content = f"{header.dtype} of shape {header.shape}"
        what = "pickled objects" if header.dtype.hasobject else content
        order = " in column-major order" if header.fortran else ""
        allowed = str(shape).replace("None", "any")
        raise refuse(f"{name} is {what}{order} instead of {np.dtype(dtype)} of shape {allowed}")
    return header


def read_array(header: Header, name: str, refuse: Refusal) -> npt.NDArray[Any]:
    """Reads all elements of an opened array, and closes its stream.

    Raises:
        InputError: The array has more or fewer elements than its header states.
    """
    with header.stream as stream:
        content = stream.read()
    if len(content) != int(np.prod(header.shape)) * header.dtype.itemsize:
        raise refuse(f"{name} has {len(content)} bytes behind its header")
    elements = np.frombuffer(content, dtype=header.dtype)
    return elements.reshape(header.shape, order="F" if header.fortran else "C")


def array_blocks(header: Header, name: str, refuse: Refusal) -> Iterator[npt.NDArray[Any]]:
    """Reads the rows of an opened array of images in chunks; closes its stream at the end.

    Raises:
        InputError: The array has more or fewer rows than its header states.
    """
    count, row = header.shape[0], int(np.prod(header.shape[1:])) * header.dtype.itemsize
    with header.stream as stream:
        for start in range(0, count, _ROWS_AT_A_TIME):
            rows = min(_ROWS_AT_A_TIME, count - start)
            content = stream.read(rows * row)
            if len(content) != rows * row:
                raise refuse(f"{name} ends within images {start} to {start + rows - 1}")
            yield np.frombuffer(content, dtype=header.dtype).reshape(rows, *header.shape[1:])
        if stream.read(1):
            raise refuse(f"{name} goes on behind image {count - 1}")
