"""The Cars3D data set."""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final, final

import numpy as np
import numpy.typing as npt

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.files.pictures import check_side, open_tree, shrink
from dislab.datasets.files.published import Published, find, reading, refusal
from dislab.factors import Factor, FactorSpace

_PAGE: Final = "http://www.scottreed.info"
SOURCE: Final = Published(
    ("nips2015-analogy-data.tar.gz", "nips2015-analogy-data"),
    _PAGE,
    "https://www.scottreed.info/files/nips2015-analogy-data.tar.gz",
    checksum="4e866a7919c1beedf53964e6f7a23686",
    kind="tree",
)
_MESH: Final = re.compile(r"(?:^|/)car_(\d+)_mesh\.mat$")
_SIDE: Final = 128

FACTORS: Final = FactorSpace(
    (
        Factor("elevation", (0.0, 1.0, 2.0, 3.0)),
        Factor(
            "azimuth", tuple(15.0 * step for step in range(24)), "circular", "deg", period=360.0
        ),
        Factor("object", tuple(map(float, range(183))), "categorical"),
    )
)


@final
class Cars3D(BankedDataset):
    """Cars3D: 17,568 images in colour of 183 car models from 4 elevations and 24 azimuths.

    The elevations are numbered, since their angles are not published. The models are numbered in
    the order of their file names. The images, published at 128×128, are resized to `side` with
    Pillow's bilinear filter; `disentanglement_lib` uses a Lanczos filter instead, so its pixels
    differ slightly.

    The archive also contains other data sets, which are not read. Conversion needs memory for all
    images (216 MB at 64 pixels).

    Reed, Zhang, Zhang and Lee (2015), Deep Visual Analogy-Making,
    https://papers.nips.cc/paper/5845-deep-visual-analogy-making

    Args:
        side: Height and width of the images in pixels, at most 128.
        path: The published archive (nips2015-analogy-data.tar.gz), or a folder that contains it or
            its files car_*_mesh.mat; the cache folder is searched as well.
        download: Whether to download the archive if it is not found.

    Raises:
        InputError: The side is out of range.
    """

    licence: ClassVar[str] = "unstated"
    citation: ClassVar[str] = (
        "Reed, Zhang, Zhang and Lee (2015), Deep Visual Analogy-Making, "
        "https://papers.nips.cc/paper/5845-deep-visual-analogy-making"
    )
    size: ClassVar[int | None] = 215_875_584
    contents: ClassVar[str] = "17,568 images 64×64×3: elevation 4, azimuth 24, object 183"
    untried: ClassVar[bool] = True
    cache: ClassVar[str] = "cars3d"

    def __init__(self, side: int = 64, path: str | None = None, download: bool = False) -> None:
        check_side(side, _SIDE)
        self.side = side
        self.path = path
        self.download = download

    @property
    def factors(self) -> FactorSpace:
        """Elevation, azimuth and car model; the last one counts fastest."""
        return FACTORS

    @property
    def image_shape(self) -> ImageShape:
        """Three channels, `side` rows and columns."""
        return (3, self.side, self.side)

    def _pictures(self) -> Pictures:
        origin = {"source": "published", "file": SOURCE.names[0], "filter": "bilinear"}
        name = f"cars3d/{self.side}"
        return Pictures(name, len(FACTORS), origin, self._rows)

    def _rows(self) -> Iterator[Rows]:
        path = find(SOURCE, self.path, self.download)
        *views, cars = FACTORS.sizes
        with reading(path, _PAGE), open_tree(path) as tree:
            # a compressed archive is read in its own order, as seeking back would restart it
            matches = ((name, _MESH.search(name)) for name in tree.names)
            meshes = {name: int(match[1]) for name, match in matches if match}
            if len(meshes) != cars:
                what = f"it holds {len(meshes)} files car_*_mesh.mat instead of {cars}"
                raise refusal(path, what, _PAGE)
            order = sorted(meshes, key=lambda name: (meshes[name], name))
            images = np.empty((*views, cars, 3, self.side, self.side), dtype=np.uint8)
            for name in meshes:
                views_of_car = _mesh(tree.read(name), path, name)
                for view in np.ndindex(*views):
                    images[(*view, order.index(name))] = shrink(views_of_car[view], self.side)
        yield from images.reshape(-1, cars, 3 * self.side**2)


def _mesh(content: bytes, path: Path, name: str) -> npt.NDArray[np.uint8]:
    """The views of a car, shape (elevation, azimuth, height, width, channel)."""
    # imported here, as it is needed only here and would slow the start of every command
    from scipy.io import loadmat

    try:
        images = loadmat(io.BytesIO(content), variable_names=["im"])["im"]
    except Exception as error:  # scipy raises almost anything for a broken file
        raise refusal(path, f"{name} cannot be read: {error!r}", _PAGE) from error
    elevations, azimuths, _ = FACTORS.sizes
    shape = (_SIDE, _SIDE, 3, azimuths, elevations)
    if images.shape != shape or images.dtype != np.uint8:
        what = f"im in {name} is {images.dtype} of shape {images.shape} instead of uint8 of {shape}"
        raise refusal(path, what, _PAGE)
    return np.ascontiguousarray(images.transpose(4, 3, 0, 1, 2))
