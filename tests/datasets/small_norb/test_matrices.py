import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from dislab.datasets.small_norb.small_norb import _read_all, _read_blocks
from dislab.errors import InputError

BYTES, INTEGERS = np.dtype(np.uint8), np.dtype("<i4")


def matrix(array: np.ndarray) -> bytes:
    """As the format's page describes it: magic, axes, at least three lengths, elements."""
    magic = {BYTES: 0x1E3D4C55, INTEGERS: 0x1E3D4C54}[array.dtype]
    lengths = [*array.shape, 1, 1][: max(3, array.ndim)]
    return struct.pack(f"<II{len(lengths)}I", magic, array.ndim, *lengths) + array.tobytes()


@pytest.mark.parametrize("shape", [(5,), (4, 3), (2, 3, 2), (300, 2, 3, 4)])
@pytest.mark.parametrize("dtype", [BYTES, INTEGERS])
@pytest.mark.parametrize("name", ["a.mat", "a.mat.gz"])
def test_reads_packed_and_unpacked(
    shape: tuple[int, ...], dtype: np.dtype, name: str, tmp_path: Path
) -> None:
    array = np.random.default_rng(0).integers(100, size=shape).astype(dtype)
    content = matrix(array)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert np.array_equal(_read_all(tmp_path / name, dtype, shape), array)


WHOLE = matrix(np.arange(12, dtype=np.uint8).reshape(4, 3))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is no NORB matrix instead of uint8 of shape"),
        (WHOLE[:12], "it is no NORB matrix"),
        (b"\1" + WHOLE[1:], "it is no NORB matrix"),
        (matrix(np.zeros((3, 4), np.uint8)), r"it is uint8 of shape \(3, 4\) instead"),
        (matrix(np.zeros((4, 3), np.int32)), r"it is int32 of shape \(4, 3\) instead"),
        (WHOLE[:-1], "it ends within rows 0 to 3"),
        (WHOLE + b"x", "it goes on behind row 3"),
    ],
)
def test_refuses_other_content(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.mat").write_bytes(content)
    with pytest.raises(InputError, match=rf"a\.mat is not the published file: {message}"):
        _read_all(tmp_path / "a.mat", BYTES, (4, 3))


def test_refuses_a_broken_packing(tmp_path: Path) -> None:
    path = tmp_path / "a.mat.gz"
    noise = np.random.default_rng(0).integers(256, size=(900, 9), dtype=np.uint8)
    packed = gzip.compress(matrix(noise))
    path.write_bytes(packed[:-100])
    with pytest.raises(InputError, match="cannot be read: Compressed file ended"):
        list(_read_blocks(path, BYTES, noise.shape))
    path.write_bytes(packed[:-8] + bytes(4) + packed[-4:])
    with pytest.raises(InputError, match="cannot be read: CRC check failed"):
        list(_read_blocks(path, BYTES, noise.shape))
    path.write_bytes(b"not packed")
    with pytest.raises(InputError, match="cannot be read: Not a gzipped file"):
        list(_read_blocks(path, BYTES, noise.shape))
