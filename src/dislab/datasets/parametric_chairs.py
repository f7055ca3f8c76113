"""A data set of chairs out of boxes."""

import math
from typing import Any, ClassVar, Final, final

import numpy as np
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from dislab.base import Dataset, ImageShape
from dislab.datasets import _chairs_render as renderer
from dislab.datasets._bank import (
    Blocks,
    Plan,
    Rows,
    bank_record,
    bank_rows,
    open_bank,
    prepare_bank,
)
from dislab.factors import Factor, FactorSpace, Indices
from dislab.storage import cache_folder

FACTORS: Final = FactorSpace(
    (
        Factor("seat_width", (0.36, 0.46, 0.56), unit="m"),
        Factor("seat_height", (0.34, 0.42, 0.50), unit="m"),
        Factor("back_height", (0.22, 0.36, 0.50), unit="m"),
        Factor("leg_width", (0.03, 0.07), unit="m"),
        Factor("arms", ("none", "both"), "categorical"),
        Factor("color", tuple(renderer.COLOURS), "categorical"),
        Factor("azimuth", tuple(360 * k / 31 for k in range(31)), "circular", "deg", 360.0),
        Factor("elevation", (20.0, 30.0), unit="deg"),
    )
)

_VIEWS: Final = 62
"""Images of one chair, which follow each other."""


@final
class ParametricChairs(Dataset):
    """26,784 views of 432 chairs made of boxes, 64×64 RGB on white, from eight factors.

    Six factors say which chair it is, and two from where it is seen: 31 azimuths and two
    elevations, as many as of each of the 3D chairs of Aubry et al. The chairs are drawn here and
    are not theirs. The images (329 MB) are drawn at first use and mapped into memory.

    After Aubry et al. (2014), Seeing 3D chairs, https://www.di.ens.fr/willow/research/seeing3Dchairs
    """

    licence: ClassVar[str] = "Apache-2.0 (drawn here)"
    citation: ClassVar[str] = "dislab"
    size: ClassVar[int | None] = 329_121_920
    contents: ClassVar[str] = (
        "26,784 images 64×64×3: seat_width 3, seat_height 3, back_height 3, leg_width 2, "
        "arms 2, color 4, azimuth 31, elevation 2"
    )
    cache: ClassVar[str] = "parametric_chairs"

    def __init__(self) -> None:
        self._tables: dict[str, Tensor] = {}

    @property
    def factors(self) -> FactorSpace:
        """Seat, back, legs, arms, colour, azimuth and elevation; the last counts fastest."""
        return FACTORS

    @property
    def image_shape(self) -> ImageShape:
        """Three channels, 64 rows, 64 columns."""
        return (3, renderer.SIDE, renderer.SIDE)

    def prepare(self) -> None:
        """Makes sure that the images are in the cache folder.

        Raises:
            InputError: The cache folder cannot be written to.
        """
        prepare_bank(self._plan())

    def tables(self) -> dict[str, Tensor]:
        """The `images`, one row of bytes each.

        Raises:
            InputError: The images have not been prepared, or their file was damaged since.
        """
        if not self._tables:
            self._tables = {"images": open_bank(self._plan())}
        return self._tables

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> UInt8[Tensor, "batch channel height width"]:
        """Images by number.

        Args:
            tables: What `tables` returned, moved to the device of `index`.
            index: State numbers.
        """
        return bank_rows(tables["images"], index).view(len(index), *self.image_shape)

    def provenance(self) -> dict[str, str]:
        """Source, renderer version and checksum of the images.

        Raises:
            InputError: The images have not been prepared.
        """
        return bank_record(self._plan())

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the mapped images: another process maps them itself."""
        return {**self.__dict__, "_tables": {}}

    def _plan(self) -> Plan:
        path = cache_folder() / "parametric_chairs" / f"rendered-{renderer.VERSION}.npy"
        shape = (len(FACTORS), int(np.prod(self.image_shape)))
        origin = {"source": "rendered", "renderer": str(renderer.VERSION)}
        return Plan(path, shape, origin, Blocks(_VIEWS, _drawn), packed=False)


def draw(index: Indices) -> Rows:
    """Images by number, one a row.

    Args:
        index: State numbers.
    """
    positions = FACTORS.positions(index)
    values = torch.from_numpy(FACTORS.values(positions)).float()
    colours = torch.tensor(list(renderer.COLOURS.values()))
    images = renderer.render(
        values[:, :5],
        values[:, 6:] * (math.pi / 180),
        colours[torch.from_numpy(positions[:, FACTORS.column("color")])],
    )
    return images.flatten(1).numpy()


def _drawn(start: int, stop: int) -> Rows:
    return draw(np.arange(start, stop))
