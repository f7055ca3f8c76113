"""The MNIST data set."""

from collections.abc import Iterator
from functools import cache
from typing import ClassVar, Final, Literal, final

import numpy as np

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.files.instances import with_instances
from dislab.datasets.files.published import find
from dislab.datasets.mnist._file import COUNTS, SIDE, SOURCES, Part, read_part
from dislab.factors import Factor, FactorSpace

DIGIT: Final = Factor("digit", tuple(map(float, range(10))), "categorical")
PART: Final = Factor("part", ("training", "test"), "categorical", nuisance=True)


@final
class MNIST(BankedDataset):
    """MNIST: 70,000 grey images of 28×28 pixels of handwritten digits; the digit is the factor.

    The factor `instance`, which scores ignore, numbers the images of a digit in the order of the
    file. With `part: both`, `part` is also a factor that scores ignore, and
    `hold_out: {part: test}` makes the published test images the test split. The states are sorted
    by digit, then by part, then by instance, which is not the order of the file.

    LeCun, Bottou, Bengio and Haffner (1998), http://yann.lecun.com/exdb/mnist/

    Args:
        part: The 60,000 training images, the 10,000 test images, or both.
        side: Height and width of the images in pixels; 32 adds a black margin of 2.
        path: The folder of the published files (idx-ubyte), compressed (.gz) or not; the cache
            folder is searched as well.
        download: Whether to download the files if they are not found.
    """

    licence: ClassVar[str] = "unstated; commonly given as CC BY-SA 3.0"
    citation: ClassVar[str] = (
        "LeCun, Bottou, Bengio and Haffner (1998), Gradient-based learning applied to document "
        "recognition, http://yann.lecun.com/exdb/mnist/"
    )
    size: ClassVar[int | None] = 54_880_000
    contents: ClassVar[str] = "70,000 images 28×28×1: digit 10, part 2, instance 6742"
    cache: ClassVar[str] = "mnist"

    def __init__(
        self,
        part: Literal["both", "training", "test"] = "both",
        side: Literal[28, 32] = 28,
        path: str | None = None,
        download: bool = False,
    ) -> None:
        self.part = part
        self.side = side
        self.path = path
        self.download = download

    @property
    def factors(self) -> FactorSpace:
        """Digit, part if both parts are read, and instance."""
        return _states(self._parts)

    @property
    def image_shape(self) -> ImageShape:
        """One channel, `side` rows and columns."""
        return (1, self.side, self.side)

    @property
    def _parts(self) -> tuple[Part, ...]:
        return ("training", "test") if self.part == "both" else (self.part,)

    def _pictures(self) -> Pictures:
        files = ", ".join(SOURCES[part][0].names[0] for part in self._parts)
        images = sum(sum(COUNTS[part]) for part in self._parts)
        name = f"mnist/{self.part}-{self.side}"
        origin = {"source": "published", "file": files}
        return Pictures(name, images, origin, self._rows)

    def _rows(self) -> Iterator[Rows]:
        margin = (self.side - SIDE) // 2
        images, digits = [], []
        for part in self._parts:
            paths = (find(file, self.path, self.download) for file in SOURCES[part])
            pixels, labels = read_part(part, *paths)
            images.append(pixels)
            digits.append(labels)
        order = np.argsort(np.concatenate(digits), kind="stable")
        framed = np.pad(np.concatenate(images)[order], ((0, 0), (margin,) * 2, (margin,) * 2))
        yield framed.reshape(len(framed), -1)


@cache
def _states(parts: tuple[Part, ...]) -> FactorSpace:
    counts = np.array([COUNTS[part] for part in parts])
    digits, origins = np.meshgrid(np.arange(10), np.arange(len(parts)), indexing="ij")
    labels = np.column_stack([digits.ravel(), origins.ravel()])
    factors = (DIGIT, PART)[: len(parts)]
    return with_instances(factors, np.repeat(labels, counts.T.ravel(), axis=0)[:, : len(factors)])
