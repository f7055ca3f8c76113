"""The SmallNORB data set."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final, Literal, final

import numpy as np
import numpy.typing as npt
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import Dataset, ImageShape
from dislab.datasets import _norb_file as norb
from dislab.datasets._bank import Rows
from dislab.datasets._decode import check_side, shrink
from dislab.datasets._image_bank import ImageBank, Pictures
from dislab.datasets._published import Published, find, refusal
from dislab.factors import Factor, FactorSpace, Indices

_PAGE: Final = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"
_SIDE: Final = 96
_PAIRS: Final = 24_300
_ROWS_AT_A_TIME: Final = 1024
_CAMERAS: Final = ("left", "right")
_TRAINING: Final = "smallnorb-5x46789x9x18x6x2x96x96-training"
_TESTING: Final = "smallnorb-5x01235x9x18x6x2x96x96-testing"


def _published(stem: str, size: int, checksum: str) -> Published:
    name = f"{stem}.mat.gz"
    names = (name, name.removesuffix(".gz"))
    return Published(names, _PAGE, f"{_PAGE}{name}", size, checksum, kind="part")


SOURCES: Final = (
    {
        "dat": _published(
            f"{_TRAINING}-dat",
            131_896_188,
            "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873",
        ),
        "cat": _published(
            f"{_TRAINING}-cat",
            348,
            "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa",
        ),
        "info": _published(
            f"{_TRAINING}-info",
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
class SmallNORB(Dataset):
    """SmallNORB: 48,600 grey photographs of 50 toys, from five factors, by one of two cameras.

    Both published halves are taken together: they are every combination of category, instance,
    elevation, azimuth and lighting. `hold_out: {instance: [0, 1, 2, 3, 5]}` makes the published
    test half the test split. The instance is a toy of its category; toy 3 of one category has
    nothing in common with toy 3 of another.

    The images, published at 96×96, are brought to `side` by Pillow's bilinear filter;
    `disentanglement_lib` uses a Lanczos filter instead and the left camera. Converting needs memory
    for all images (199 MB at 64 pixels and one camera).

    LeCun, Huang and Bottou (2004), Learning Methods for Generic Object Recognition with Invariance
    to Pose and Lighting, https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/

    Args:
        camera: Which camera's images; `both` makes the camera a sixth factor, with 97,200 images.
        side: Height and width of the images in pixels, at most 96.
        path: The folder of the six published files, packed (.mat.gz) or not (.mat); also looked
            for in the cache folder.
        download: Whether the files may be fetched when they are not found.

    Raises:
        InputError: The side is not possible.
    """

    licence: ClassVar[str] = "research only, not to be sold"
    citation: ClassVar[str] = (
        "LeCun, Huang and Bottou (2004), Learning Methods for Generic Object Recognition with "
        "Invariance to Pose and Lighting, https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"
    )
    size: ClassVar[int | None] = 199_065_600

    def __init__(
        self,
        camera: Literal["left", "right", "both"] = "left",
        side: int = 64,
        path: str | None = None,
        download: bool = False,
    ) -> None:
        check_side(side, _SIDE)
        self.camera = camera
        self.side = side
        self.path = path
        self.download = download
        self._bank = ImageBank(self._pictures)

    @property
    def factors(self) -> FactorSpace:
        """Category, instance, elevation, azimuth, lighting, and camera if there are two."""
        return STEREO if self.camera == "both" else STATES

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

    def _pictures(self) -> Pictures:
        origin = {"source": "published", "file": _TRAINING + ", testing", "filter": "bilinear"}
        name = f"smallnorb/{self.camera}-{self.side}"
        return Pictures(name, len(self.factors), self.image_shape, origin, self._rows)

    def _rows(self) -> Iterator[Rows]:
        cameras = [0, 1] if self.camera == "both" else [_CAMERAS.index(self.camera)]
        paths = [
            {kind: find(file, self.path, self.download) for kind, file in half.items()}
            for half in SOURCES
        ]
        states = [_states(half) for half in paths]
        _check_once(np.concatenate(states), paths[-1]["info"])
        images = np.empty((len(STATES), len(cameras), self.side**2), dtype=np.uint8)
        for half, order in zip(paths, states, strict=True):
            shape = (len(order), len(_CAMERAS), _SIDE, _SIDE)
            place = iter(order)
            for block in norb.read_blocks(half["dat"], np.dtype(np.uint8), shape, _PAGE):
                for pair in block:
                    shrunk = [shrink(pair[camera], self.side).reshape(-1) for camera in cameras]
                    images[next(place)] = shrunk
        rows = images.reshape(-1, self.side**2)
        for start in range(0, len(rows), _ROWS_AT_A_TIME):
            yield rows[start : start + _ROWS_AT_A_TIME]


def _states(half: dict[str, Path]) -> Indices:
    """State numbers of the image pairs of a half, in their order."""
    integers = np.dtype("<i4")
    category = norb.read_all(half["cat"], integers, (_PAIRS,), _PAGE)
    info = norb.read_all(half["info"], integers, (_PAIRS, 4), _PAGE)
    # azimuths are published as 0, 2, … 34
    labels = np.column_stack([category, info]).astype(np.int64)
    odd = (labels[:, 3] % 2).any()
    labels[:, 3] //= 2
    if odd or (labels < 0).any() or (labels >= STATES.sizes).any():
        raise refusal(half["info"], "it holds a label out of range", _PAGE)
    return STATES.index(labels)


def _check_once(states: npt.NDArray[np.int64], path: Path) -> None:
    counts = np.bincount(states, minlength=len(STATES))
    if len(states) != len(STATES) or (counts != 1).any():
        twice = int((counts > 1).sum())
        what = f"{twice} combinations of labels occur more than once in the two halves"
        raise refusal(path, what, _PAGE)
