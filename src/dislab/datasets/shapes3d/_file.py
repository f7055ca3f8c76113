"""Reader of the published 3D Shapes file: checks the structure, then reads images in chunks."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dislab.datasets.files.published import Published, refusal
from dislab.errors import InputError
from dislab.storage import sha256

_PAGE: Final = "https://github.com/google-deepmind/3d-shapes"
SOURCE: Final = Published(
    ("3dshapes.h5",),
    _PAGE,
    "https://storage.googleapis.com/3d-shapes/3dshapes.h5",
    267_573_662,
    "0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
)

VALUES: Final = (
    np.arange(10) / 10,
    np.arange(10) / 10,
    np.arange(10) / 10,
    np.linspace(0.75, 1.25, 8),
    np.arange(4.0),
    np.linspace(-30, 30, 15),
)
"""Values of floor, wall and object hue, scale, shape and orientation in the published labels."""

_SIDE: Final = 64
_IMAGES_AT_A_TIME: Final = 1024


def official_rows(path: Path) -> Iterator[npt.NDArray[np.uint8]]:
    """The images of the published file in order, rows of 12,288 bytes, channels first.

    HDF5 stores no checksum of these images, so the checksum of the whole file is verified first.
    """
    h5py = _h5py()
    if (checksum := sha256(path)) != SOURCE.checksum:
        size = path.stat().st_size
        what = (
            f"SHA-256 {checksum} ({size} bytes) instead of {SOURCE.checksum} ({SOURCE.size} bytes)"
        )
        raise refusal(path, what, _PAGE)
    try:
        with h5py.File(path, "r") as file:
            images = _checked(file, path)
            for start in range(0, len(images), _IMAGES_AT_A_TIME):
                pixels = images[start : start + _IMAGES_AT_A_TIME]
                yield pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1)
    except (OSError, RuntimeError) as error:
        raise refusal(path, f"it cannot be read: {error}", _PAGE) from error


def _h5py() -> Any:
    try:
        return import_module("h5py")
    except ImportError as error:
        raise InputError(
            "the published 3D Shapes file is read with h5py, which is not installed; "
            "pip install 'dislab[hdf5]'"
        ) from error


def _checked(file: Any, path: Path) -> Any:
    """The images, if they and their labels have the published structure and order."""
    count = int(np.prod([len(values) for values in VALUES]))
    shapes = {
        "images": (np.dtype(np.uint8), (count, _SIDE, _SIDE, 3)),
        "labels": (np.dtype(np.float64), (count, len(VALUES))),
    }
    for name, (dtype, shape) in shapes.items():
        if name not in file:
            raise refusal(path, f"it has no array {name}, only {', '.join(file)}", _PAGE)
        if (file[name].dtype, file[name].shape) != (dtype, shape):
            what = f"{name} is {file[name].dtype} of shape {file[name].shape}"
            raise refusal(path, f"{what} instead of {dtype} of shape {shape}", _PAGE)
    labels = file["labels"][:]
    grid = np.stack(np.meshgrid(*VALUES, indexing="ij"), axis=-1).reshape(labels.shape)
    wrong = np.flatnonzero((np.abs(labels - grid) > 1e-6).any(axis=1))
    if len(wrong):
        first = wrong[0]
        what = f"image {first} has the labels {labels[first].tolist()}"
        raise refusal(path, f"{what} instead of {grid[first].tolist()}", _PAGE)
    return file["images"]
