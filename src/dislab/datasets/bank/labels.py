"""Labels of images: stored next to the converted images, and numbered where several are equal."""

import zipfile
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dislab.factors import Factor, FactorSpace, Indices
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


INSTANCE: Final = "instance"
"""Name of the factor that distinguishes images with equal labels."""


def with_instances(factors: Sequence[Factor], labels: npt.NDArray[np.integer[Any]]) -> FactorSpace:
    """States of labelled images, in their order, with an additional last factor `instance`.

    States of a factor space must differ. So images with equal labels are numbered: the first one is
    instance 0, the next one instance 1, and so on. The number has no other meaning, and the factor
    is marked as a nuisance.
    """
    numbers = occurrences(labels)
    table = np.column_stack([labels, numbers]).astype(np.int32)
    return FactorSpace((*factors, instance_factor(numbers)), table)


def instance_factor(numbers: Indices) -> Factor:
    """The factor `instance`, with one value per number."""
    names = tuple(map(float, range(int(numbers.max(initial=0)) + 1)))
    return Factor(INSTANCE, names, "categorical", nuisance=True)


def occurrences(labels: npt.NDArray[np.integer[Any]]) -> Indices:
    """Number of equal earlier rows, for each row."""
    order = np.lexsort(labels.T[::-1])
    ordered = labels[order]
    fresh = np.ones(len(labels), dtype=np.bool_)
    fresh[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    starts = np.flatnonzero(fresh)
    ranks = np.arange(len(labels)) - starts[np.cumsum(fresh) - 1]
    numbers = np.empty(len(labels), dtype=np.int64)
    numbers[order] = ranks
    return numbers
