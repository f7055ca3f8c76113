"""Reader of the published robot-finger data sets: factors, labels, images."""

import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dislab.datasets.bank.bank import Rows
from dislab.datasets.bank.labels import Labels
from dislab.datasets.files.decode import Frame, numbered_pictures, shrink
from dislab.datasets.files.npz import Refusal, array_blocks, open_array, open_header, read_array
from dislab.datasets.files.plain_pickle import load_plain
from dislab.datasets.files.published import reading, refusal
from dislab.datasets.files.tree import open_tree
from dislab.errors import InputError

PAGE: Final = "its authors (https://arxiv.org/abs/2010.14407)"
COLUMNS: Final = ("shape", "color", "size", "joint0", "joint1", "joint2", "x", "y", "angle")
SIDE: Final = 128


def read_labels(info: Path, labels: Path) -> Labels:
    """The value numbers as `table`, one row per image, and the values of each column by name.

    Colours are rows of RGB values from 0 to 1; shapes are names.
    """
    with reading(info, PAGE), zipfile.ZipFile(info) as archive:
        count, values = _info(archive, _refusing(info))
    sizes = [len(values[name]) for name in COLUMNS]
    refuse = _refusing(labels)
    with reading(labels, PAGE), zipfile.ZipFile(labels) as archive:
        header = open_header(archive, "labels", refuse)
        if header.dtype.kind not in "iu" or header.shape != (count, len(COLUMNS)):
            header.stream.close()
            kind = "pickled objects" if header.dtype.hasobject else str(header.dtype)
            what = f"labels is {kind} of shape {header.shape} instead of integers of shape "
            raise refuse(f"{what}{(count, len(COLUMNS))}")
        table = read_array(header, "labels", refuse)
    if (table < 0).any() or (table >= sizes).any():
        raise refuse(f"labels holds value numbers beyond the sizes {sizes}")
    return {"table": table.astype(np.int32), **values}


def photographs(path: Path, count: int, side: int) -> Iterator[Rows]:
    """The images of the real set in order, as chunks of rows of bytes."""
    refuse = _refusing(path)
    with reading(path, PAGE), zipfile.ZipFile(path) as archive:
        header = open_array(archive, "images", np.uint8, (count, SIDE, SIDE, 3), refuse)
        for block in array_blocks(header, "images", refuse):
            yield np.stack([shrink(pixels, side).reshape(-1) for pixels in block])


def renderings(path: Path, count: int, side: int) -> Iterator[Rows]:
    """The images of a simulated set in order, as chunks of rows of bytes."""
    with reading(path, PAGE), open_tree(path) as tree:
        yield from numbered_pictures(tree, count, Frame((SIDE, SIDE), side), _refusing(path))


def _refusing(path: Path) -> Refusal:
    def refuse(what: str) -> InputError:
        return refusal(path, what, PAGE)

    return refuse


def _info(archive: zipfile.ZipFile, refuse: Refusal) -> tuple[int, Labels]:
    """Number of images, and the values of each column by name."""
    count = _numbers(archive, "dataset_size", refuse)
    sizes = _numbers(archive, "num_factor_values", refuse)
    with open_array(archive, "factor_values", np.object_, (), refuse).stream as stream:
        try:
            pickled = load_plain(stream)
        except pickle.UnpicklingError as error:
            raise refuse(f"factor_values cannot be unpickled safely: {error}") from error
    content = pickled.item() if isinstance(pickled, np.ndarray) and pickled.ndim == 0 else pickled
    if not isinstance(content, dict) or set(content) != set(COLUMNS):
        contents = ", ".join(map(str, content)) if isinstance(content, dict) else type(content)
        raise refuse(f"factor_values names {contents} instead of {', '.join(COLUMNS)}")
    values = {name: _values(name, content[name], refuse) for name in COLUMNS}
    lengths = [len(values[name]) for name in COLUMNS]
    if count.size != 1 or sizes.ravel().tolist() != lengths:
        what = f"factor_values has {lengths} values, but num_factor_values says {sizes.tolist()}"
        raise refuse(what)
    return int(count.ravel()[0]), values


def _numbers(archive: zipfile.ZipFile, name: str, refuse: Refusal) -> npt.NDArray[Any]:
    header = open_header(archive, name, refuse)
    if header.dtype.kind not in "iu":
        header.stream.close()
        raise refuse(f"{name} is {header.dtype} instead of integers")
    return read_array(header, name, refuse)


def _values(name: str, content: object, refuse: Refusal) -> npt.NDArray[Any]:
    names, axes = name == "shape", 2 if name == "color" else 1
    try:
        values = np.asarray(content, dtype=np.str_ if names else np.float64)
    except (TypeError, ValueError) as error:
        raise refuse(f"the values of {name} are no {'names' if names else 'numbers'}") from (error)
    if values.ndim != axes or not len(values):
        raise refuse(f"the values of {name} have shape {values.shape}")
    return values
