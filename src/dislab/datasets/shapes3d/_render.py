"""Renderer of a look-alike of 3D Shapes, as layers whose sum is the image.

Each ray hits one material, and a hue changes only the colour of its own material. So an image is
the sum of four layers: sky, floor, wall and object, each determined by the geometry and one hue.
There are 480 geometries: 8 scales, 4 shapes and 15 orientations.

The lighting model is OpenGL's: ambient light, plus a headlight that depends on the angle between
the surface and the camera's axis, plus a lamp that hangs in the room, shines straight down and
casts the shadows. The constants were fitted by least absolute error to 25 frames of the animation
published with the images (https://github.com/google-deepmind/3d-shapes).

A second look, `evening`, has the same states under another lamp and with tiles on floor and walls,
to test transfer out of domain. Its constants were chosen, not fitted.
"""

import colorsys
import math
from typing import Final, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from dislab.datasets.bank.blocks import Rows
from dislab.datasets.raycast import (
    Box,
    Camera,
    Capsule,
    Cylinder,
    Frame,
    Part,
    Ring,
    Shape,
    Sphere,
    Vector,
    cast,
    move,
    normals,
    shaded,
)

VERSION: Final = 2
"""Version of the renderer; cached renderings of other versions are not used."""

SIDE: Final = 64
"""Height and width of an image in pixels."""

HUES: Final = 10
"""Number of hues of floor, wall and object."""

GEOMETRIES: Final = (8, 4, 15)
"""Number of scales, shapes and orientations."""

LAYERS: Final = 1 + 3 * HUES
"""Layers of a geometry: the sky, then floor, wall and object in every hue."""

LAYER_BYTES: Final = 3 * SIDE * SIDE

_CPU: Final = torch.device("cpu")
_CAMERA: Final = Camera((0.0, -2.727, 0.883), (0.0, 0.0, 0.851), 51.81, SIDE, 4, SIDE)
_ROOM: Final = (3.718, 3.5)
"""Half the room's width and half its depth, which sets the unit of all lengths."""
_WALL: Final = 2.16
_CUBE: Final = 0.296
_CYLINDER: Final = (0.3126, 0.634)
_SPHERE: Final = 0.359
_CAPSULE: Final = (0.275, 0.553)
_GROWTH: Final = 0.0943
_WALL_PART, _FLOOR_PART, _OBJECT_PART = range(3)


class _Material(NamedTuple):
    """Brightness of a surface facing each light."""

    ambient: float
    head: float
    lamp: float


class Look(NamedTuple):
    """Light and materials.

    Attributes:
        lamp: Position of the lamp in the room.
        colour: Brightness of all light in red, green and blue.
        sky: Colour above the walls, in bytes.
        surroundings: Material of floor and walls.
        object: Material of the object.
        tiles: Share of the light that every second tile of floor and walls lacks.
    """

    lamp: tuple[float, float, float]
    colour: tuple[float, float, float]
    sky: tuple[int, int, int]
    surroundings: _Material
    object: _Material
    tiles: float


PUBLISHED: Final = Look(
    (-1.443, 0.503, 7.661),
    (1, 1, 1),
    (153, 226, 249),
    _Material(0.337, 0.597, 0.969),
    _Material(0.397, 0.552, 1.731),
    0,
)

EVENING: Final = Look(
    (2.2, -0.9, 7.0),
    (1, 0.92, 0.8),
    (96, 90, 130),
    _Material(0.3, 0.5, 1.05),
    _Material(0.3, 0.45, 1.7),
    0.15,
)
_TILE: Final = 0.6
"""Side of a tile, which divides neither width nor depth of the room."""


def render_rows(start: int, stop: int, look: Look = PUBLISHED) -> Rows:
    """Layers by number, one per row; complete geometries only."""
    layers = [render(geometry, look=look) for geometry in range(start // LAYERS, stop // LAYERS)]
    return np.concatenate([part.numpy().reshape(LAYERS, LAYER_BYTES) for part in layers])


@torch.no_grad()
def render(
    geometry: int, device: torch.device = _CPU, look: Look = PUBLISHED
) -> UInt8[Tensor, "layer 3 height width"]:
    """Layers of a geometry, in whose number orientation varies fastest, then shape."""
    scale, shape, orientation = (int(n) for n in np.unravel_index(geometry, GEOMETRIES))
    angle = torch.tensor([[math.radians(-30 + 60 * orientation / (GEOMETRIES[2] - 1))]])
    # the camera is fixed, and the room rotates in the opposite direction
    room = Frame.at().turned_z(-angle)
    solid, height = _object(shape, 1 + _GROWTH * scale)
    thing = Part(solid, room.moved(z=height))
    # in the order of their numbers: wall, floor, object
    scene = (Part(Box(*_ROOM, 1e3, room=True), room), Part(Ring(0, 1e3), room), thing)
    parts = [move(part, device) for part in scene]
    rays = _CAMERA.rays(device)
    seen = cast(parts, rays, 1)
    point = rays.apex + rays.direction * seen.distance
    normal = normals(parts, seen, point)
    in_room = move(room, device)
    lamp = in_room.outside(Vector.of(*look.lamp, device=device))
    dark = shaded(parts[_OBJECT_PART:], lamp, seen.state, point + normal * 1e-3)
    head, key = _headlight(normal), _lamplight(lamp, point, normal) * (~dark).float()
    sky = (seen.part == _WALL_PART) & (point.z >= _WALL)
    wall = (seen.part == _WALL_PART) & ~sky
    around, thing_light = (
        material.ambient + material.head * head + material.lamp * key
        for material in (look.surroundings, look.object)
    )
    if look.tiles:
        around = around * (1 - look.tiles * _dark_tiles(in_room.inside(point)))
    layers = [
        torch.stack([_channel(sky.float() * (value / 255)) for value in look.sky])[None],
        _coloured(around, seen.part == _FLOOR_PART, look),
        _coloured(around, wall, look),
        _coloured(thing_light, seen.part == _OBJECT_PART, look),
    ]
    return torch.cat(layers)


def _object(shape: int, size: float) -> tuple[Shape, float]:
    """The solid and the height of its origin above the floor."""
    if shape == 0:
        half = _CUBE * size
        return Box(half, half, half), half
    if shape == 1:
        return Cylinder(_CYLINDER[0] * size, 0, _CYLINDER[1] * size), 0.0
    if shape == 2:
        return Sphere(_SPHERE * size), _SPHERE * size
    radius = _CAPSULE[0] * size
    return Capsule(radius, 0, _CAPSULE[1] * size), radius


def _headlight(normal: Vector) -> Float[Tensor, "1 ray"]:
    """Share of the headlight, along the camera's axis, that a surface receives."""
    device = normal.x.device
    position, target = (
        Vector.of(*point, device=device) for point in (_CAMERA.position, _CAMERA.target)
    )
    return normal.dot((position - target).unit()).clamp_min(0)


def _lamplight(lamp: Vector, point: Vector, normal: Vector) -> Float[Tensor, "1 ray"]:
    """Share of the lamp's light on a surface; falls with cos¹⁰ of the angle to the lamp's axis."""
    way = (lamp - point).unit()
    squared = way.z.clamp_min(0) ** 2
    fourth = squared * squared
    return normal.dot(way).clamp_min(0) * fourth * fourth * squared


def _dark_tiles(point: Vector) -> Float[Tensor, "1 ray"]:
    """1 on every second tile of floor and walls, 0 on the others."""
    # from below the floor, whose height may be rounded to less than 0
    steps = [(axis / _TILE).floor() for axis in (point.x, point.y, point.z + _TILE / 2)]
    return torch.stack(steps).sum(0) % 2


def _coloured(light: Tensor, mask: Tensor, look: Look) -> UInt8[Tensor, "hue 3 height width"]:
    """The layers of a material in every hue."""
    colours = [
        [round(part * share, 6) for part, share in zip(rgb, look.colour, strict=True)]
        for rgb in (colorsys.hsv_to_rgb(hue / HUES, 1, 1) for hue in range(HUES))
    ]
    # few of the three times ten channels differ
    levels = {level for colour in colours for level in colour}
    channels = {level: _channel((light * level).clamp(0, 1) * mask) for level in levels}
    return torch.stack([torch.stack([channels[level] for level in colour]) for colour in colours])


def _channel(colour: Tensor) -> UInt8[Tensor, "height width"]:
    # truncated, not rounded, so that the sum of four layers never exceeds 255
    return (_CAMERA.picture(_CAMERA.mean(colour)) * 255 + 1e-3).to(torch.uint8)
