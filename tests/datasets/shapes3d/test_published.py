import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from dislab.datasets.shapes3d import shapes3d as shapes3d
from dislab.errors import InputError
from dislab.storage import sha256

VALUES = (
    np.array([0.0, 0.1]),
    np.array([0.0]),
    np.array([0.0, 0.1]),
    np.array([0.75]),
    np.arange(2.0),
    np.linspace(-30, 30, 200),
)
COUNT = 1600
IMAGES = np.random.default_rng(0).integers(256, size=(COUNT, 64, 64, 3), dtype=np.uint8)
LABELS = np.stack(np.meshgrid(*VALUES, indexing="ij"), axis=-1).reshape(COUNT, 6)
SWAPPED = LABELS[[0, 2, 1, *range(3, COUNT)]]

Writer = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Writer:
    """Writes a file like the published one, of fewer states, and takes its checksum for that."""
    monkeypatch.setattr(shapes3d, "VALUES", VALUES)

    def make(published: bool = True, **arrays: np.ndarray) -> Path:
        path = tmp_path / "3dshapes.h5"
        with h5py.File(path, "w") as file:
            for name, array in {"images": IMAGES, "labels": LABELS, **arrays}.items():
                if array.size:
                    file.create_dataset(name, data=array)
        source = shapes3d.SOURCE._replace(checksum=sha256(path) if published else "0" * 64)
        monkeypatch.setattr(shapes3d, "SOURCE", source)
        return path

    return make


def read(path: Path) -> np.ndarray:
    return np.concatenate(list(shapes3d.official_rows(path)))


def test_published_values() -> None:
    assert [len(values) for values in shapes3d.VALUES] == [10, 10, 10, 8, 4, 15]
    # labels of the last image as its publishers print them
    last = [float(values[-1]) for values in shapes3d.VALUES]
    assert last == [0.9, 0.9, 0.9, 1.25, 3.0, 30.0]
    assert shapes3d.VALUES[3][1] == pytest.approx(0.82142857)


def test_images_are_read_in_their_order(write: Writer) -> None:
    assert np.array_equal(read(write()), IMAGES.transpose(0, 3, 1, 2).reshape(COUNT, -1))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"images": np.empty(0)}, "it has no array images, only labels"),
        ({"images": IMAGES[:5]}, r"images is uint8 of shape \(5, 64, 64, 3\) instead of uint8 of"),
        ({"labels": LABELS.astype(np.float32)}, "labels is float32 of shape"),
        ({"labels": SWAPPED}, r"image 1 has the labels \[.*-29\.3.*\] instead of \[.*-29\.6"),
    ],
)
def test_another_structure_is_refused(arrays: dict[str, Any], message: str, write: Writer) -> None:
    with pytest.raises(InputError, match=rf"3dshapes\.h5 is not the published file: {message}"):
        read(write(**arrays))


def test_an_altered_or_cut_file_is_refused(write: Writer) -> None:
    path = write()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"SHA-256 \w+ \(.* bytes\) instead of \w+ \(267573662 "):
        read(path)
    path.write_bytes(content[:-1000])
    with pytest.raises(InputError, match="SHA-256"):
        read(path)


def test_a_file_that_is_no_hdf5_is_refused(write: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write()
    path.write_bytes(b"no hdf5")
    source = shapes3d.SOURCE._replace(checksum=sha256(path))
    monkeypatch.setattr(shapes3d, "SOURCE", source)
    with pytest.raises(InputError, match="it cannot be read"):
        read(path)


def test_a_missing_h5py_is_explained(write: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write()
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(InputError, match=r"needs h5py .* pip install 'dislab\[hdf5"):
        read(path)
