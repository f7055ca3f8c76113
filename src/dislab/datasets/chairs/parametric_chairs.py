"""A data set of chairs made of boxes, and its renderer."""

import math
from typing import ClassVar, Final, final

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Blocks, Rows
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.raycast import (
    NOTHING,
    Box,
    Camera,
    Frame,
    Part,
    Vector,
    cast,
    move,
    normals,
    shaded,
    take,
)
from dislab.factors import Factor, FactorSpace, Indices

VERSION: Final = 1
"""Version of the renderer; cached renderings of other versions are not used."""

SIDE: Final = 64
"""Height and width of an image in pixels."""

COLOURS: Final = {
    "brown": (0.72, 0.50, 0.30),
    "grey": (0.55, 0.56, 0.58),
    "red": (0.78, 0.22, 0.20),
    "blue": (0.25, 0.42, 0.74),
}
"""Material of the chairs."""

_CPU: Final = torch.device("cpu")
_CAMERA: Final = Camera((0.0, -3.0, 0.0), (0.0, 0.0, 0.0), 26.0, SIDE, samples=2, tile=4)
_LAMP: Final = (-3.0, -5.0, 6.0)
_AMBIENT: Final = 0.45
_KEY: Final = 0.65
_OFF: Final = 1e-3
_MIDDLE: Final = 0.45
"""Height of the centre of rotation of a chair."""

_DEPTH: Final = 0.23
_BOARD: Final = 0.025
_REST: Final = (0.02, 0.22)
"""Half the width of an armrest, and its height above the seat."""

FACTORS: Final = FactorSpace(
    (
        Factor("seat_width", (0.36, 0.46, 0.56), unit="m"),
        Factor("seat_height", (0.34, 0.42, 0.50), unit="m"),
        Factor("back_height", (0.22, 0.36, 0.50), unit="m"),
        Factor("leg_width", (0.03, 0.07), unit="m"),
        Factor("arms", ("none", "both"), "categorical"),
        Factor("color", tuple(COLOURS), "categorical"),
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
        return (3, SIDE, SIDE)

    def _pictures(self) -> Pictures:
        origin = {"source": "rendered", "renderer": str(VERSION)}
        name = f"parametric_chairs/rendered-{VERSION}"
        return Pictures(name, len(FACTORS), origin, Blocks(_VIEWS, _rendered))


@torch.no_grad()
def render_views(
    shape: Float[Tensor, "state 5"],
    view: Float[Tensor, "state 2"],
    colour: Float[Tensor, "state 3"],
    device: torch.device = _CPU,
) -> UInt8[Tensor, "state 3 height width"]:
    """Images of chairs.

    `shape` has width and height of the seat, height of the back and width of the legs in metres,
    and 1 with or 0 without armrests; `view` has azimuth and elevation of the camera in radians;
    `colour` is RGB from 0 to 1. All are on the host; the images are rendered on `device`.
    """
    rays, parts = _CAMERA.rays(device), [move(part, device) for part in _chair(shape, view)]
    seen = cast(parts, rays, len(shape))
    hit = seen.part != NOTHING
    point = rays.apex + take(rays.direction, seen.tile) * seen.distance
    normal = normals(parts, seen, point)
    lamp, colour = Vector.of(*_LAMP, device=device), colour.to(device)
    dark = shaded(parts, lamp, seen.state, point + normal * _OFF)
    key = normal.dot((lamp - point).unit()).clamp_min(0)
    light = _AMBIENT + _KEY * key.where(~dark, 0)
    size = 3, len(shape), len(rays.spread), _CAMERA.tile**2
    tiles = torch.full(size, 255, dtype=torch.uint8, device=device)
    for channel in range(3):
        tint = colour[seen.state, channel, None]
        pixels = _CAMERA.mean((light * tint).clamp(0, 1).where(hit, 1))
        tiles[channel, seen.state, seen.tile] = (pixels * 255 + 0.5).to(torch.uint8)
    return _CAMERA.picture(tiles.transpose(0, 1))


def _chair(shape: Float[Tensor, "state 5"], view: Float[Tensor, "state 2"]) -> list[Part]:
    """Seat, back, four legs and two armrests on posts; without armrests, these have size 0."""
    across, high, back, leg, arms = shape.mT[:, :, None]
    azimuth, elevation = view.mT[:, :, None]
    wide, leg = across / 2, leg / 2
    # the camera is fixed, and the chair turns the other way and leans towards it
    floor = Frame.at().turned_x(elevation).turned_z(-azimuth).moved(z=-_MIDDLE)
    parts = [
        Part(Box(wide, _DEPTH, _BOARD), floor.moved(z=high - _BOARD)),
        Part(Box(wide, _BOARD, back / 2), floor.moved(y=_DEPTH - _BOARD, z=high + back / 2)),
    ]
    under = high / 2 - _BOARD
    thick, arm_height = _REST[0] * arms, _REST[1]
    for side in (-1, 1):
        x = side * (wide - leg)
        parts += [
            Part(Box(leg, leg, under), floor.moved(x, y, under))
            for y in (leg - _DEPTH, _DEPTH - leg)
        ]
        # at the sides of the seat, so that the back never hides them
        x, foot = side * (wide + _REST[0]), high - 2 * _BOARD
        post = floor.moved(x, -0.6 * _DEPTH, (foot + high + arm_height) / 2)
        parts.append(Part(Box(thick, _DEPTH * arms, thick), floor.moved(x, z=high + arm_height)))
        parts.append(Part(Box(thick, thick, (high + arm_height - foot) / 2 * arms), post))
    return parts


def render(index: Indices) -> Rows:
    """Images by number, one per row."""
    positions = FACTORS.positions(index)
    values = torch.from_numpy(FACTORS.values(positions)).float()
    colours = torch.tensor(list(COLOURS.values()))
    images = render_views(
        values[:, :5],
        values[:, 6:] * (math.pi / 180),
        colours[torch.from_numpy(positions[:, FACTORS.column("color")])],
    )
    return images.flatten(1).numpy()


def _rendered(start: int, stop: int) -> Rows:
    return render(np.arange(start, stop))
