"""Reader of the published MNIST files."""

from pathlib import Path
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from dislab.datasets.files.norb_file import open_packed
from dislab.datasets.files.published import Published, reading, refusal

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


def read_part(
    part: Part, images: Path, labels: Path
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Images and digits of a part, in the order of the files."""
    count = sum(COUNTS[part])
    pixels, digits = _idx(images, (count, SIDE, SIDE)), _idx(labels, (count,))
    _check_counts(digits, labels, COUNTS[part])
    return pixels, digits


def _check_counts(digits: npt.NDArray[np.uint8], path: Path, counts: tuple[int, ...]) -> None:
    actual = np.bincount(digits, minlength=10).tolist()
    if actual != list(counts):
        what = f"the digits 0, 1, … occur {actual} times instead of {list(counts)}"
        raise refusal(path, what, PAGE)


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
