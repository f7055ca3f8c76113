"""Labels from published files, kept beside the converted images."""

import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt

from dislab.storage import atomic, cache_folder

Labels = dict[str, npt.NDArray[Any]]


def kept_labels(name: str) -> Labels | None:
    """The labels that `keep_labels` wrote; None if their file is missing or damaged.

    The name of the set is that in the cache folder, folders included.
    """
    path = cache_folder() / f"{name}.npz"
    try:
        with np.load(path, allow_pickle=False) as archive:
            return dict(archive)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None


def keep_labels(name: str, labels: Labels) -> None:
    """Writes labels to the cache folder."""
    arrays: dict[str, Any] = dict(labels)
    # savez adds .npz to a path that lacks it, and the temporary name does
    with atomic(cache_folder() / f"{name}.npz") as temporary, temporary.open("wb") as stream:
        np.savez(stream, **arrays)
