"""The MNIST data set, and the reader of the published files."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import ClassVar, Final, Literal, final

import numpy as np
import numpy.typing as npt

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.bank.labels import with_instances
from dislab.datasets.files.published import Published, find, open_packed, reading, refusal
from dislab.factors import Factor, FactorSpace

PAGE: Final = "http://yann.lecun.com/exdb/mnist/"
_MIRROR: Final = "https://ossci-datasets.s3.amazonaws.com/mnist"
SIDE: Final = 28

Part = Literal["training", "test"]

COUNTS: Final[dict[Part, tuple[int, ...]]] = {
    "training": (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
    "test": (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
}
"""Number of images per digit, so that the states are known without the files."""


def _published(stem: str, size: int, checksum: str) -> Published:
    names = (f"{stem}.gz", stem)
    return Published(names, PAGE, f"{_MIRROR}/{stem}.gz", size, checksum, kind="part")


SOURCES: Final[dict[Part, tuple[Published, Published]]] = {
    "training": (
        _published(
            "train-images-idx3-ubyte",
            9_912_422,
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        ),
        _published(
            "train-labels-idx1-ubyte",
            28_881,
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        ),
    ),
    "test": (
        _published(
            "t10k-images-idx3-ubyte",
            1_648_877,
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        ),
        _published(
            "t10k-labels-idx1-ubyte",
            4_542,
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    ),
}

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
            pixels, labels = _read_part(part, *paths)
            images.append(pixels)
            digits.append(labels)
        order = np.argsort(np.concatenate(digits), kind="stable")
        framed = np.pad(np.concatenate(images)[order], ((0, 0), (margin,) * 2, (margin,) * 2))
        yield framed.reshape(len(framed), -1)


def _read_part(
    part: Part, images: Path, labels: Path
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Images and digits of a part, in the order of the files."""
    count = sum(COUNTS[part])
    pixels, digits = _idx(images, (count, SIDE, SIDE)), _idx(labels, (count,))
    counts = np.bincount(digits, minlength=10).tolist()
    if counts != list(COUNTS[part]):
        what = f"the digits 0, 1, … occur {counts} times instead of {list(COUNTS[part])}"
        raise refusal(labels, what, PAGE)
    return pixels, digits


def _idx(path: Path, shape: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    """An array of bytes in the idx format: zeros, type, number of axes, lengths, elements."""
    with reading(path, PAGE), open_packed(path) as stream:
        content = stream.read()
    header = bytes([0, 0, 8, len(shape)]) + b"".join(length.to_bytes(4) for length in shape)
    if not content.startswith(header):
        raise refusal(path, f"it is no idx file of {'×'.join(map(str, shape))} bytes", PAGE)
    elements = np.frombuffer(content, dtype=np.uint8, offset=len(header))
    if elements.size != np.prod(shape):
        what = f"it has {elements.size} elements instead of {np.prod(shape)}"
        raise refusal(path, what, PAGE)
    return elements.reshape(shape)


@cache
def _states(parts: tuple[Part, ...]) -> FactorSpace:
    counts = np.array([COUNTS[part] for part in parts])
    digits, origins = np.meshgrid(np.arange(10), np.arange(len(parts)), indexing="ij")
    labels = np.column_stack([digits.ravel(), origins.ravel()])
    factors = (DIGIT, PART)[: len(parts)]
    return with_instances(factors, np.repeat(labels, counts.T.ravel(), axis=0)[:, : len(factors)])
