"""The SmallNORB data set, and readers of its binary matrices: a small header, then the elements."""

import gzip
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, final

import numpy as np
import numpy.typing as npt

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.files.pictures import check_side, shrink
from dislab.datasets.files.published import Published, find, open_packed, reading, refusal
from dislab.factors import Factor, FactorSpace, Indices

_MAGIC: Final[dict[int, np.dtype[Any]]] = {
    0x1E3D4C55: np.dtype(np.uint8),
    0x1E3D4C54: np.dtype("<i4"),
}
"""Element type by the first four bytes; the format has others, which SmallNORB does not use."""

_ROWS_AT_A_TIME: Final = 256
PAGE: Final = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"
SIDE: Final = 96
PAIRS: Final = 24_300
_CAMERAS: Final = ("left", "right")
TRAINING: Final = "smallnorb-5x46789x9x18x6x2x96x96-training"
_TESTING: Final = "smallnorb-5x01235x9x18x6x2x96x96-testing"


def _published(stem: str, size: int, checksum: str) -> Published:
    name = f"{stem}.mat.gz"
    names = (name, name.removesuffix(".gz"))
    return Published(names, PAGE, f"{PAGE}{name}", size, checksum, kind="part")


SOURCES: Final = (
    {
        "dat": _published(
            f"{TRAINING}-dat",
            131_896_188,
            "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873",
        ),
        "cat": _published(
            f"{TRAINING}-cat",
            348,
            "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa",
        ),
        "info": _published(
            f"{TRAINING}-info",
            71_052,
            "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32",
        ),
    },
    {
        "dat": _published(
            f"{_TESTING}-dat",
            130_799_817,
            "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474",
        ),
        "cat": _published(
            f"{_TESTING}-cat",
            347,
            "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff",
        ),
        "info": _published(
            f"{_TESTING}-info",
            10_428,
            "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2",
        ),
    },
)

STATES: Final = FactorSpace(
    (
        Factor("category", ("animal", "human", "airplane", "truck", "car"), "categorical"),
        Factor("instance", tuple(map(float, range(10))), "categorical"),
        Factor("elevation", tuple(30.0 + 5 * step for step in range(9)), unit="deg"),
        Factor("azimuth", tuple(20.0 * step for step in range(18)), "circular", "deg", 360.0),
        Factor("lighting", tuple(map(float, range(6))), "categorical"),
    )
)

STEREO: Final = FactorSpace((*STATES.factors, Factor("camera", _CAMERAS, "categorical")))


@final
class SmallNORB(BankedDataset):
    """SmallNORB: 48,600 grey photographs of 50 toys, from five factors, by one of two cameras.

    Both published halves are combined and contain all combinations of category, instance,
    elevation, azimuth and lighting. `hold_out: {instance: [0, 1, 2, 3, 5]}` makes the published
    test half the test split. The instance is a toy of its category; toy 3 of one category has
    nothing in common with toy 3 of another. Published scores leave it out, as in Locatello et al.
    (2019), https://arxiv.org/abs/1811.12359, and so do scores here unless `instance` is `factor`.

    The images, published at 96×96, are resized to `side` with Pillow's bilinear filter;
    `disentanglement_lib` uses a Lanczos filter and the left camera instead. Conversion needs memory
    for all images (199 MB at 64 pixels and one camera).

    LeCun, Huang and Bottou (2004), Learning Methods for Generic Object Recognition with Invariance
    to Pose and Lighting, https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/

    Args:
        camera: Camera of the images; `both` makes the camera a sixth factor, with 97,200 images.
        side: Height and width of the images in pixels, at most 96.
        path: The folder of the six published files, compressed (.mat.gz) or not (.mat); the cache
            folder is searched as well.
        download: Whether to download the files if they are not found.
        instance: Whether the instance is a `nuisance`, which scores leave out and which may differ
            within a pair, or a `factor` like the others.

    Raises:
        InputError: The side is out of range.
    """

    licence: ClassVar[str] = "research only, not to be sold"
    citation: ClassVar[str] = (
        "LeCun, Huang and Bottou (2004), Learning Methods for Generic Object Recognition with "
        "Invariance to Pose and Lighting, https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"
    )
    size: ClassVar[int | None] = 199_065_600
    contents: ClassVar[str] = (
        "48,600 images 64×64×1: category 5, instance 10, elevation 9, azimuth 18, lighting 6"
    )
    untried: ClassVar[bool] = True
    cache: ClassVar[str] = "smallnorb"

    def __init__(
        self,
        camera: Literal["left", "right", "both"] = "left",
        side: int = 64,
        path: str | None = None,
        download: bool = False,
        instance: Literal["nuisance", "factor"] = "nuisance",
    ) -> None:
        check_side(side, SIDE)
        self.camera = camera
        self.side = side
        self.path = path
        self.download = download
        self.instance = instance

    @cached_property
    def factors(self) -> FactorSpace:
        """Category, instance, elevation, azimuth, lighting, and camera if both are read."""
        space = STEREO if self.camera == "both" else STATES
        left_out = {"instance"} if self.instance == "nuisance" else set()
        return FactorSpace(
            tuple(replace(factor, nuisance=factor.name in left_out) for factor in space.factors)
        )

    @property
    def image_shape(self) -> ImageShape:
        """One channel, `side` rows and columns."""
        return (1, self.side, self.side)

    def _pictures(self) -> Pictures:
        origin = {"source": "published", "file": TRAINING + ", testing", "filter": "bilinear"}
        name = f"smallnorb/{self.camera}-{self.side}"
        return Pictures(name, len(self.factors), origin, self._rows)

    def _rows(self) -> Iterator[Rows]:
        cameras = [0, 1] if self.camera == "both" else [_CAMERAS.index(self.camera)]
        paths = [
            {kind: find(file, self.path, self.download) for kind, file in half.items()}
            for half in SOURCES
        ]
        states = [_read_states(half) for half in paths]
        counts = np.bincount(np.concatenate(states), minlength=len(STATES))
        if (counts != 1).any():
            twice = int((counts > 1).sum())
            what = f"{twice} combinations of labels occur more than once in the two halves"
            raise refusal(paths[-1]["info"], what, PAGE)
        images = np.empty((len(STATES), len(cameras), self.side**2), dtype=np.uint8)
        for half, order in zip(paths, states, strict=True):
            shape = (len(order), len(_CAMERAS), SIDE, SIDE)
            targets = iter(order)
            for block in _read_blocks(half["dat"], np.dtype(np.uint8), shape):
                for pair in block:
                    shrunk = [shrink(pair[camera], self.side).reshape(-1) for camera in cameras]
                    images[next(targets)] = shrunk
        rows = images.reshape(-1, self.side**2)
        for start in range(0, len(rows), _ROWS_AT_A_TIME):
            yield rows[start : start + _ROWS_AT_A_TIME]


def _read_all(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Reads a whole matrix and checks type and shape."""
    return np.concatenate(list(_read_blocks(path, dtype, shape)))


def _read_blocks(
    path: Path, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> Iterator[npt.NDArray[Any]]:
    """Reads the rows of a matrix in order, in chunks; rejects a file of another form."""
    row = int(np.prod(shape[1:])) * dtype.itemsize
    with reading(path, PAGE), open_packed(path) as stream:
        header = _header(stream)
        if header != (dtype, shape):
            what = "no NORB matrix" if header is None else f"{header[0]} of shape {header[1]}"
            raise refusal(path, f"it is {what} instead of {dtype} of shape {shape}", PAGE)
        for start in range(0, shape[0], _ROWS_AT_A_TIME):
            rows = min(_ROWS_AT_A_TIME, shape[0] - start)
            content = stream.read(rows * row)
            if len(content) != rows * row:
                raise refusal(path, f"it ends within rows {start} to {start + rows - 1}", PAGE)
            yield np.frombuffer(content, dtype=dtype).reshape(rows, *shape[1:])
        if stream.read(1):
            raise refusal(path, f"it goes on behind row {shape[0] - 1}", PAGE)


def _header(stream: BufferedReader | gzip.GzipFile) -> tuple[np.dtype[Any], tuple[int, ...]] | None:
    """Type and shape of the matrix that begins here; None without one."""
    start = np.frombuffer(stream.read(8), dtype="<u4")
    if len(start) < 2 or int(start[0]) not in _MAGIC or not 1 <= start[1] <= 8:
        return None
    axes = int(start[1])
    # the header always has space for at least three lengths
    lengths = np.frombuffer(stream.read(4 * max(3, axes)), dtype="<u4")
    if len(lengths) < max(3, axes):
        return None
    return _MAGIC[int(start[0])], tuple(map(int, lengths[:axes]))


def _read_states(half: dict[str, Path]) -> Indices:
    """State numbers of the image pairs of a half, in order."""
    integers = np.dtype("<i4")
    category = _read_all(half["cat"], integers, (PAIRS,))
    info = _read_all(half["info"], integers, (PAIRS, 4))
    # azimuths are published as 0, 2, … 34
    labels = np.column_stack([category, info]).astype(np.int64)
    odd = (labels[:, 3] % 2).any()
    labels[:, 3] //= 2
    if odd or (labels < 0).any() or (labels >= STATES.sizes).any():
        raise refusal(half["info"], "it holds a label out of range", PAGE)
    return STATES.index(labels)
