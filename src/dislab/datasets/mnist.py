"""The MNIST data set."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import ClassVar, Final, Literal, final

import numpy as np
import numpy.typing as npt
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import Dataset, ImageShape
from dislab.datasets._bank import Rows
from dislab.datasets._image_bank import ImageBank, Pictures
from dislab.datasets._instances import with_instances
from dislab.datasets._norb_file import open_packed
from dislab.datasets._published import Published, find, reading, refusal
from dislab.factors import Factor, FactorSpace

_PAGE: Final = "http://yann.lecun.com/exdb/mnist/"
_MIRROR: Final = "https://ossci-datasets.s3.amazonaws.com/mnist"
_SIDE: Final = 28

Part = Literal["training", "test"]

COUNTS: Final[dict[Part, tuple[int, ...]]] = {
    "training": (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
    "test": (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
}
"""How many images of each digit there are, so that the states are known without the files."""


def _published(stem: str, size: int, checksum: str) -> Published:
    names = (f"{stem}.gz", stem)
    return Published(names, _PAGE, f"{_MIRROR}/{stem}.gz", size, checksum, kind="part")


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
class MNIST(Dataset):
    """MNIST: 70,000 grey images of 28×28 pixels of handwritten digits; the digit is the factor.

    Images of one digit are told apart by the factor `instance`, their number in the order of the
    file, which no score counts; with `part: both` so does `part`, and
    `hold_out: {part: test}` makes the published test images the test split. The states are sorted
    by digit, then by part, then by instance, which is not the order of the file.

    LeCun, Bottou, Bengio and Haffner (1998), http://yann.lecun.com/exdb/mnist/

    Args:
        part: The 60,000 training images, the 10,000 test images, or both.
        side: Height and width of the images in pixels; 32 adds a black margin of 2.
        path: The folder of the published files (idx-ubyte), packed (.gz) or not; also looked for
            in the cache folder.
        download: Whether the files may be fetched when they are not found.
    """

    licence: ClassVar[str] = "unstated; commonly given as CC BY-SA 3.0"
    citation: ClassVar[str] = (
        "LeCun, Bottou, Bengio and Haffner (1998), Gradient-based learning applied to document "
        "recognition, http://yann.lecun.com/exdb/mnist/"
    )
    size: ClassVar[int | None] = 54_880_000

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
        self._bank = ImageBank(self._pictures)

    @property
    def factors(self) -> FactorSpace:
        """Digit, part if there are two, and instance."""
        return _states(self._parts)

    @property
    def image_shape(self) -> ImageShape:
        """One channel, `side` rows and columns."""
        return (1, self.side, self.side)

    def prepare(self) -> None:
        """Makes sure that the images are in the cache folder.

        Raises:
            InputError: A published file is not found, cannot be fetched or is not the published
                one, or the cache folder cannot be written to.
        """
        self._bank.prepare()

    def tables(self) -> dict[str, Tensor]:
        """The images as `pixels`, a row of bytes a state.

        Raises:
            InputError: The images have not been prepared, or their file was damaged since.
        """
        return self._bank.tables()

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number.

        Args:
            tables: What `tables` returned, moved to the device of `index`.
            index: State numbers.
        """
        return self._bank.gather(tables, index)

    def provenance(self) -> dict[str, str]:
        """The published files and the checksum of the converted images.

        Raises:
            InputError: The images have not been prepared.
        """
        return self._bank.provenance()

    @property
    def _parts(self) -> tuple[Part, ...]:
        return ("training", "test") if self.part == "both" else (self.part,)

    def _pictures(self) -> Pictures:
        files = ", ".join(SOURCES[part][0].names[0] for part in self._parts)
        images = sum(sum(COUNTS[part]) for part in self._parts)
        name = f"mnist/{self.part}-{self.side}"
        origin = {"source": "published", "file": files}
        return Pictures(name, images, self.image_shape, origin, self._rows)

    def _rows(self) -> Iterator[Rows]:
        margin = (self.side - _SIDE) // 2
        images, digits = [], []
        for part in self._parts:
            pixels, labels = (find(file, self.path, self.download) for file in SOURCES[part])
            images.append(_idx(pixels, (sum(COUNTS[part]), _SIDE, _SIDE)))
            digits.append(_idx(labels, (sum(COUNTS[part]),)))
            _check_counts(digits[-1], labels, COUNTS[part])
        order = np.argsort(np.concatenate(digits), kind="stable")
        framed = np.pad(np.concatenate(images)[order], ((0, 0), (margin,) * 2, (margin,) * 2))
        yield framed.reshape(len(framed), -1)


@cache
def _states(parts: tuple[Part, ...]) -> FactorSpace:
    counts = np.array([COUNTS[part] for part in parts])
    digits, origins = np.meshgrid(np.arange(10), np.arange(len(parts)), indexing="ij")
    labels = np.column_stack([digits.ravel(), origins.ravel()])
    known = (DIGIT, PART)[: len(parts)]
    return with_instances(known, np.repeat(labels, counts.T.ravel(), axis=0)[:, : len(known)])


def _check_counts(digits: npt.NDArray[np.uint8], path: Path, counts: tuple[int, ...]) -> None:
    found = np.bincount(digits, minlength=10).tolist()
    if found != list(counts):
        what = f"the digits 0, 1, … occur {found} times instead of {list(counts)}"
        raise refusal(path, what, _PAGE)


def _idx(path: Path, shape: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    """An array of bytes in the idx format: zeros, type, number of axes, lengths, elements."""
    with reading(path, _PAGE), open_packed(path) as stream:
        content = stream.read()
    header = bytes([0, 0, 8, len(shape)]) + b"".join(length.to_bytes(4) for length in shape)
    if not content.startswith(header):
        raise refusal(path, f"it is no idx file of {'×'.join(map(str, shape))} bytes", _PAGE)
    elements = np.frombuffer(content, dtype=np.uint8, offset=len(header))
    if elements.size != np.prod(shape):
        what = f"it has {elements.size} elements instead of {np.prod(shape)}"
        raise refusal(path, what, _PAGE)
    return elements.reshape(shape)
