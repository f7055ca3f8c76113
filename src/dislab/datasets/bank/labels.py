"""Labels from published files, stored next to the converted images."""

import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt

from dislab.storage import atomic, cache_file

Labels = dict[str, npt.NDArray[Any]]


def kept_labels(name: str) -> Labels | None:
    """Reads the labels written by `keep_labels`; None if their file is missing or damaged.

    `name` is the name of the data set in the cache folder, including folders.
    """
    path = cache_file(f"{name}.npz")
    try:
        with np.load(path, allow_pickle=False) as archive:
            return dict(archive)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None


def keep_labels(name: str, labels: Labels) -> None:
    """Writes labels to the cache folder."""
    arrays: dict[str, Any] = dict(labels)
    # a stream, as savez would append .npz to the temporary name
    with atomic(cache_file(f"{name}.npz")) as temporary, temporary.open("wb") as stream:
        np.savez(stream, **arrays)
