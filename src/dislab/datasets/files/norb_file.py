"""Reader of NORB's binary matrices, compressed or not: a small header, then the elements."""

import gzip
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dislab.datasets.files.published import reading, refusal

MAGIC: Final[dict[int, np.dtype[Any]]] = {
    0x1E3D4C55: np.dtype(np.uint8),
    0x1E3D4C54: np.dtype("<i4"),
}
"""Element type by the first four bytes; the format has others, which SmallNORB does not use."""

_ROWS_AT_A_TIME: Final = 256


def read_all(
    path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], page: str
) -> npt.NDArray[Any]:
    """Reads a whole matrix and checks type and shape; messages name `page`, its source.

    Raises:
        InputError: The file is damaged or not the expected one.
    """
    return np.concatenate(list(read_blocks(path, dtype, shape, page)))


def read_blocks(
    path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], page: str
) -> Iterator[npt.NDArray[Any]]:
    """Reads the rows of a matrix in order, in chunks.

    Raises:
        InputError: The file is damaged or not the expected one.
    """
    row = int(np.prod(shape[1:])) * dtype.itemsize
    with reading(path, page), open_packed(path) as stream:
        header = _header(stream)
        if header != (dtype, shape):
            what = "no NORB matrix" if header is None else f"{header[0]} of shape {header[1]}"
            raise refusal(path, f"it is {what} instead of {dtype} of shape {shape}", page)
        for start in range(0, shape[0], _ROWS_AT_A_TIME):
            rows = min(_ROWS_AT_A_TIME, shape[0] - start)
            content = stream.read(rows * row)
            if len(content) != rows * row:
                raise refusal(path, f"it ends within rows {start} to {start + rows - 1}", page)
            yield np.frombuffer(content, dtype=dtype).reshape(rows, *shape[1:])
        if stream.read(1):
            raise refusal(path, f"it goes on behind row {shape[0] - 1}", page)


def open_packed(path: Path) -> BufferedReader | gzip.GzipFile:
    """Opens a file, which is decompressed while reading if its name ends in `.gz`."""
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def _header(stream: BufferedReader | gzip.GzipFile) -> tuple[np.dtype[Any], tuple[int, ...]] | None:
    """Type and shape of the matrix that begins here; None without one."""
    start = np.frombuffer(stream.read(8), dtype="<u4")
    if len(start) < 2 or int(start[0]) not in MAGIC or not 1 <= start[1] <= 8:
        return None
    axes = int(start[1])
    # the header always has space for at least three lengths
    lengths = np.frombuffer(stream.read(4 * max(3, axes)), dtype="<u4")
    if len(lengths) < max(3, axes):
        return None
    return MAGIC[int(start[0])], tuple(map(int, lengths[:axes]))
