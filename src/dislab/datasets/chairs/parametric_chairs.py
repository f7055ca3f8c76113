"""A data set of chairs made of boxes."""

import math
from typing import ClassVar, Final, final

import numpy as np
import torch

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Blocks, Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.chairs import _render as renderer
from dislab.factors import Factor, FactorSpace, Indices

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
"""Number of images of one chair, which are consecutive."""


@final
class ParametricChairs(BankedDataset):
    """26,784 views of 432 chairs made of boxes, 64×64 RGB on white, from eight factors.

    Six factors define the chair, and two the view: 31 azimuths and two elevations, as for the 3D
    chairs of Aubry et al. The chair models are dislab's own, not theirs. The images (329 MB) are
    rendered on first use and mapped into memory.

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

    @property
    def factors(self) -> FactorSpace:
        """Seat, back, legs, arms, colour, azimuth and elevation; the last counts fastest."""
        return FACTORS

    @property
    def image_shape(self) -> ImageShape:
        """Three channels, 64 rows, 64 columns."""
        return (3, renderer.SIDE, renderer.SIDE)

    def _pictures(self) -> Pictures:
        origin = {"source": "rendered", "renderer": str(renderer.VERSION)}
        name = f"parametric_chairs/rendered-{renderer.VERSION}"
        return Pictures(name, len(FACTORS), origin, Blocks(_VIEWS, _rendered))


def render(index: Indices) -> Rows:
    """Images by number, one per row."""
    positions = FACTORS.positions(index)
    values = torch.from_numpy(FACTORS.values(positions)).float()
    colours = torch.tensor(list(renderer.COLOURS.values()))
    images = renderer.render(
        values[:, :5],
        values[:, 6:] * (math.pi / 180),
        colours[torch.from_numpy(positions[:, FACTORS.column("color")])],
    )
    return images.flatten(1).numpy()


def _rendered(start: int, stop: int) -> Rows:
    return render(np.arange(start, stop))
