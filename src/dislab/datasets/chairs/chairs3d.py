"""The 3D Chairs data set."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final, final

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.files.pictures import Frame, Tree, check_side, open_tree, pictures
from dislab.datasets.files.published import Published, find, reading, refusal
from dislab.factors import Factor, FactorSpace

_PAGE: Final = "https://www.di.ens.fr/willow/research/seeing3Dchairs/"
SOURCE: Final = Published(
    ("rendered_chairs.tar", "rendered_chairs"),
    _PAGE,
    "https://www.di.ens.fr/willow/research/seeing3Dchairs/data/rendered_chairs.tar",
    kind="tree",
)
_RENDER: Final = re.compile(r"(?:^|/)([^/]+)/renders/image_\d+_p(\d+)_t(\d+)_r\d+\.png$")
_SIDE: Final = 600
_AZIMUTHS: Final = 31

FACTORS: Final = FactorSpace(
    (
        Factor("chair", tuple(map(float, range(1393))), "categorical"),
        Factor("elevation", (20.0, 30.0), unit="deg"),
        Factor(
            "azimuth",
            tuple(360 * step / _AZIMUTHS for step in range(_AZIMUTHS)),
            "circular",
            "deg",
            period=360.0,
        ),
    )
)


@final
class Chairs3D(BankedDataset):
    """3D Chairs: 86,366 renderings of 1,393 chair models, 2 elevations and 31 azimuths.

    The models are numbered in the order of their published identifiers. Azimuths are treated as
    equal steps of 360°/31, which the published file names give in whole degrees. The images,
    published at 600×600 on white, are resized to `side` with Pillow's bilinear filter, uncropped.

    Aubry, Maturana, Efros, Russell and Sivic (2014), Seeing 3D chairs,
    https://www.di.ens.fr/willow/research/seeing3Dchairs/

    Args:
        grey: Whether to convert images to grey, with one channel.
        side: Height and width of the images in pixels, at most 600.
        path: The published archive (rendered_chairs.tar), the folder unpacked from it, or a folder
            that contains either; the cache folder is searched as well.
        download: Whether to download the archive if it is not found; its checksum is not known.

    Raises:
        InputError: The side is out of range.
    """

    licence: ClassVar[str] = "unstated"
    citation: ClassVar[str] = (
        "Aubry, Maturana, Efros, Russell and Sivic (2014), Seeing 3D chairs: exemplar part-based "
        "2D-3D alignment using a large dataset of CAD models, "
        "https://www.di.ens.fr/willow/research/seeing3Dchairs/"
    )
    size: ClassVar[int | None] = 1_061_265_408
    contents: ClassVar[str] = "86,366 images 64×64×3: chair 1393, elevation 2, azimuth 31"
    untried: ClassVar[bool] = True
    cache: ClassVar[str] = "chairs3d"

    def __init__(
        self,
        grey: bool = False,
        side: int = 64,
        path: str | None = None,
        download: bool = False,
    ) -> None:
        check_side(side, _SIDE)
        self.grey = grey
        self.side = side
        self.path = path
        self.download = download

    @property
    def factors(self) -> FactorSpace:
        """Chair, elevation and azimuth; the last one counts fastest."""
        return FACTORS

    @property
    def image_shape(self) -> ImageShape:
        """One channel or three, `side` rows and columns."""
        return (1 if self.grey else 3, self.side, self.side)

    def _pictures(self) -> Pictures:
        origin = {"source": "published", "file": SOURCE.names[0], "filter": "bilinear"}
        name = f"chairs3d/{'grey' if self.grey else 'colour'}-{self.side}"
        return Pictures(name, len(FACTORS), origin, self._rows)

    def _rows(self) -> Iterator[Rows]:
        path = find(SOURCE, self.path, self.download)
        frame = Frame((_SIDE, _SIDE), self.side, "L" if self.grey else "RGB")
        with reading(path, _PAGE), open_tree(path) as tree:
            yield from pictures(tree, _in_order(tree, path), frame)


def _in_order(tree: Tree, path: Path) -> list[str]:
    """Names of the renderings in the order of the states."""
    views: dict[str, dict[tuple[int, int], str]] = {}
    for name in tree.names:
        if match := _RENDER.search(name):
            # file names give degrees rounded down, and 360 may mean 0
            step = round(int(match[3]) * _AZIMUTHS / 360) % _AZIMUTHS
            views.setdefault(match[1], {})[int(match[2]), step] = name
    chairs, *_ = FACTORS.sizes
    if len(views) != chairs:
        raise refusal(path, f"it holds renderings of {len(views)} chairs, not {chairs}", _PAGE)
    order = [(int(angle), step) for angle in (20, 30) for step in range(_AZIMUTHS)]
    for chair, present in views.items():
        if missing := [view for view in order if view not in present]:
            elevation, step = missing[0]
            what = (
                f"{len(missing)} of the {len(order)} renderings of {chair} are missing, the one "
                f"from {elevation}° and {int(360 * step / _AZIMUTHS)}° first"
            )
            raise refusal(path, what, _PAGE)
    return [views[chair][view] for chair in sorted(views) for view in order]
