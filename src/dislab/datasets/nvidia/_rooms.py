"""Common base of Isaac3D and Falcor3D, and the reader of their numbered pictures and labels."""

import io
from collections.abc import Iterator
from typing import ClassVar, Final

import numpy as np

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.files.npz import Refusal
from dislab.datasets.files.pictures import Frame, Tree, check_side, numbered_pictures, open_tree
from dislab.datasets.files.published import Published, find, reading, refusal
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace

PAGE: Final = "https://github.com/NVlabs/High-res-disentanglement-datasets"
SIDE: Final = 128


class Rooms(BankedDataset):
    """Renderings of a room, in every combination of the factors, in the version of 128×128 pixels.

    A concrete class names the published files, their labels, and the factors.
    """

    citation: ClassVar[str]
    cache: ClassVar[str]
    files: ClassVar[Published]
    labels: ClassVar[str]
    space: ClassVar[FactorSpace]

    def __init__(self, side: int = 64, path: str | None = None) -> None:
        check_side(side, SIDE)
        self.side = side
        self.path = path

    @property
    def factors(self) -> FactorSpace:
        """The factors in the order of the published labels; the last one counts fastest."""
        return self.space

    @property
    def image_shape(self) -> ImageShape:
        """Three channels, `side` rows and columns."""
        return (3, self.side, self.side)

    def _pictures(self) -> Pictures:
        origin = {"source": "published", "file": self.files.names[0], "filter": "bilinear"}
        return Pictures(f"{self.cache}/{self.side}", len(self.space), origin, self._rows)

    def _rows(self) -> Iterator[Rows]:
        """The pictures in the order of the states, as chunks of rows of bytes.

        The file `labels` next to the folder of pictures, if it exists, is compared with the states.
        """
        path = find(self.files, self.path, fetch=False)

        def refuse(what: str) -> InputError:
            return refusal(path, what, PAGE)

        with reading(path, PAGE), open_tree(path) as tree:
            names = [name for name in tree.names if name.rpartition("/")[2] == self.labels]
            if names:
                _check_labels(tree, names[0], self.space, refuse)
            frame = Frame((SIDE, SIDE), self.side)
            yield from numbered_pictures(tree, len(self.space), frame, refuse)


def files_of(name: str) -> Published:
    """The published folder of a set, or its archive."""
    return Published((name, f"{name}.zip"), PAGE, kind="tree")


def even(name: str, count: int) -> Factor:
    """A factor with evenly spaced values from 0 to 1, as normalised by the authors."""
    return Factor(name, tuple(np.linspace(0, 1, count).tolist()))


def _check_labels(tree: Tree, name: str, space: FactorSpace, refuse: Refusal) -> None:
    """Rejects labels that differ from the states given by the pictures' numbers."""
    try:
        table = np.load(io.BytesIO(tree.read(name)), allow_pickle=False)
    except ValueError as error:
        raise refuse(f"{name} is no array of numbers: {error}") from error
    shape = (len(space), len(space.names))
    if not isinstance(table, np.ndarray) or table.shape != shape or table.dtype.kind not in "fiu":
        content = "an archive"
        if hasattr(table, "shape"):
            content = f"{table.dtype} of shape {table.shape}"
        raise refuse(f"{name} is {content} instead of numbers of shape {shape}")
    positions = space.positions(np.arange(len(space)))
    for column, (factor, size) in enumerate(zip(space.names, space.sizes, strict=True)):
        values, ranks = np.unique(table[:, column], return_inverse=True)
        if len(values) != size or not np.array_equal(ranks, positions[:, column]):
            raise refuse(
                f"column {column} of {name} does not count {factor} from 0 to {size - 1} in the "
                "order of the pictures' numbers"
            )
