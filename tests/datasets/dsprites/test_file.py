import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dislab.datasets.dsprites._sprites import official_rows
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace

SPACE = FactorSpace((Factor("shape", (0.0, 1.0)), Factor("place", tuple(map(float, range(700))))))
COUNT = len(SPACE)
IMAGES = np.random.default_rng(0).integers(2, size=(COUNT, 64, 64), dtype=np.uint8)
CLASSES = np.insert(SPACE.positions(np.arange(COUNT)), 0, 0, axis=1)
SWAPPED = CLASSES[[0, 2, 1, *range(3, COUNT)]]


def as_file(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def write(path: Path, **arrays: np.ndarray) -> Path:
    """An archive like the published one, with its pickled metadata."""
    metadata = np.array({"author": "nobody"}, dtype=object)
    content = {"metadata": metadata, "imgs": IMAGES, "latents_classes": CLASSES, **arrays}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in content.items():
            if array.size:
                archive.writestr(f"{name}.npy", as_file(array))
    return path


def read(path: Path) -> np.ndarray:
    return np.concatenate(list(official_rows(path, SPACE)))


@pytest.mark.slow
def test_reads_images_in_their_order_and_pickles_nothing(tmp_path: Path) -> None:
    rows = read(write(tmp_path / "a.npz"))
    assert np.array_equal(np.unpackbits(rows, axis=1).reshape(IMAGES.shape), IMAGES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"imgs": np.empty(0)}, "it has no array imgs, only metadata.npy, latents_classes.npy"),
        ({"imgs": IMAGES.astype(np.int16)}, r"imgs is int16 of .* instead of uint8"),
        ({"imgs": IMAGES[:-1]}, r"shape \(1399, 64, 64\) instead of uint8 of shape \(1400,"),
        ({"imgs": IMAGES * 255}, "imgs holds the pixel 255"),
        ({"imgs": IMAGES.astype(object)}, "imgs is pickled objects"),
        ({"imgs": np.asfortranarray(IMAGES)}, "in column-major order"),
        ({"latents_classes": CLASSES[:, 1:]}, r"shape \(1400, 2\) instead of"),
        ({"latents_classes": CLASSES.astype(np.int32)}, "latents_classes is int32"),
        ({"latents_classes": SWAPPED}, r"image 1 has the classes \[0, 0, 2\] .*\[0, 0, 1\]"),
        (
            {"latents_classes": CLASSES + np.array([1, 0, 0])},
            r"image 0 has the classes \[1, 0, 0\]",
        ),
    ],
)
def test_refuses_another_structure(
    arrays: dict[str, np.ndarray], message: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError, match=f"a.npz is not the published .*{message}.*fetch it"):
        read(path)


@pytest.mark.slow
@pytest.mark.parametrize("keep", [0, 1000, 200_000])
def test_refuses_a_cut_file(keep: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz")
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=r"a\.npz is no readable npz archive.*may be cut"):
        read(path)


@pytest.mark.slow
def test_refuses_altered_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.npz")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="no readable npz archive"):
        read(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cut", "message"),
    [
        ("imgs", -100, "imgs ends within images 1024 to 1399"),
        ("imgs", None, "imgs goes on behind image 1399"),
        ("imgs", 3, "imgs has no valid header"),
        ("latents_classes", -8, "latents_classes has 33592 bytes behind its header"),
    ],
)
def test_refuses_arrays_that_end_elsewhere(
    name: str, cut: int | None, message: str, tmp_path: Path
) -> None:
    arrays: dict[str, np.ndarray] = {"imgs": IMAGES, "latents_classes": CLASSES}
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, array in arrays.items():
            whole = as_file(array) + (b"more" if cut is None and key == name else b"")
            archive.writestr(f"{key}.npy", whole[:cut] if key == name else whole)
    with pytest.raises(InputError, match=message):
        read(path)
