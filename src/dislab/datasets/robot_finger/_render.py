"""Renderer of the robot finger on its stage, made of boxes, cylinders and spheres.

Lengths of finger and stage, in metres, follow
https://github.com/open-dynamic-robot-initiative/robot_properties_fingers; colours and light are
chosen to resemble the simulated images of Dittadi et al. (2021), https://arxiv.org/abs/2010.14407.
"""

from typing import Final, NamedTuple

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from dislab.datasets.raycast import (
    FAR,
    NOTHING,
    Bowl,
    Box,
    Bundle,
    Camera,
    Capsule,
    Cast,
    Cylinder,
    Frame,
    Part,
    Ring,
    Sphere,
    Vector,
    bundle,
    cast,
    move,
    normals,
    shaded,
    take,
)
from dislab.datasets.robot_finger._states import BASE, CUBE, LINK, LOWER, TIP

VERSION: Final = 1
"""Version of the renderer; cached renderings of other versions are not used."""

Colour = tuple[float, float, float]

_OFF: Final = 2e-4
_STAGE: Final = (0.213, 0.277, 0.290, 0.06, -0.012)
"""Radii of floor, bowl and rim; heights of the rim and of the ground."""
_ELLIPSOID: Final = 0.0938
_GROUND_PART: Final = 4
_TIP_PART: Final = 7
_CUBE_PART: Final = 8
_CPU: Final = torch.device("cpu")


class Look(NamedTuple):
    """Materials and light.

    Attributes:
        stage: Colour of floor, bowl and rim.
        ground: Colour of the floor below the stage.
        sky: Background colour.
        link: Colour of the links.
        tip: Colour of the tip.
        lamp: Position of the lamp.
        ambient: Intensity of ambient light.
        key: Intensity of the lamp.
        head: Intensity of light from the camera.
        gloss: Intensity of specular reflection of the lamp, except on the cube.
    """

    stage: Colour
    ground: Colour
    sky: Colour
    link: Colour
    tip: Colour
    lamp: tuple[float, float, float]
    ambient: float
    key: float
    head: float
    gloss: float


SIMULATED: Final = Look(
    stage=(0.62, 0.60, 0.60),
    ground=(0.55, 0.60, 0.70),
    sky=(0.75, 0.77, 0.80),
    link=(0.42, 0.42, 0.43),
    tip=(0.30, 0.30, 0.30),
    lamp=(0.25, -0.3, 1.0),
    ambient=0.45,
    key=0.60,
    head=0.12,
    gloss=0.15,
)


def camera(side: int) -> Camera:
    """The camera of the simulated images."""
    return Camera((0.0, -0.40, 0.40), (0.0, 0.0, 0.055), 52.0, side, samples=2, tile=side // 16)


class Backdrop(NamedTuple):
    """The stage without finger and cube, by rays in their tiles.

    Attributes:
        rays: The rays of the camera.
        distance: Distance to the hit of each ray.
        lit: Colour of each ray.
        dark: Colour of each ray in the shadow of finger or cube.
        lamp: Rays from the lamp to the same points.
        reach: Distance from the lamp to these points.
    """

    rays: Bundle
    distance: Float[Tensor, "tile ray"]
    lit: Float[Tensor, "3 tile ray"]
    dark: Float[Tensor, "3 tile ray"]
    lamp: Bundle
    reach: Float[Tensor, "tile ray"]


@torch.no_grad()
def backdrop(look: Look, view: Camera, device: torch.device = _CPU) -> Backdrop:
    """The stage, which is the same in every image."""
    rays, parts = view.rays(device), [move(part, device) for part in _stage()]
    hits = cast(parts, rays, 1)
    distance = torch.full_like(rays.direction.x, FAR)
    owner = torch.full_like(distance, NOTHING, dtype=torch.uint8)
    distance[hits.tile], owner[hits.tile] = hits.distance, hits.part
    tile = torch.arange(len(owner), device=device)
    seen = Cast(torch.zeros_like(tile), tile, distance, owner)
    point = rays.apex + rays.direction * distance
    normal = normals(parts, seen, point)
    light = _light(look, point, normal, rays.direction)
    lit, dark = [], []
    for stage, ground, sky in zip(look.stage, look.ground, look.sky, strict=True):
        base = torch.full_like(distance, stage).where(owner != _GROUND_PART, ground)
        bright = base * (light.around + light.key) + light.gloss
        lit.append(bright.where(owner != NOTHING, sky))
        dark.append((base * light.around).where(owner != NOTHING, sky))
    lamp = move(Vector.of(*look.lamp), device)
    way = point + normal * _OFF - lamp
    length = way.norm()
    return Backdrop(
        rays,
        distance,
        torch.stack(lit),
        torch.stack(dark),
        bundle(lamp, way * (1 / length)),
        length,
    )


@torch.no_grad()
def render(
    look: Look, view: Camera, scene: Backdrop, state: Float[Tensor, "state 7"]
) -> UInt8[Tensor, "state 3 side side"]:
    """Images of states, given by values of the seven factors in their units, on the host.

    Images are rendered on the device of the scene, which is the result of `backdrop`.
    """
    device, count = scene.distance.device, len(state)
    parts = [move(part, device) for part in _finger(state)]
    shadow = cast(parts, scene.lamp, count)
    darkened = shadow.distance < scene.reach[shadow.tile]
    seen = cast(parts, scene.rays, count)
    before = seen.distance < scene.distance[seen.tile]
    touched = torch.zeros((count, len(scene.distance)), dtype=torch.bool, device=device)
    touched[shadow.state, shadow.tile] = darkened.any(1)
    visible = before.any(1)
    touched[seen.state[visible], seen.tile[visible]] = True
    row, tile = touched.nonzero(as_tuple=True)
    row_of = touched.flatten().cumsum(0).view_as(touched) - 1
    dark = torch.zeros_like(scene.distance[tile], dtype=torch.bool)
    some = darkened.any(1)
    dark[row_of[shadow.state[some], shadow.tile[some]]] = darkened[some]
    colour = torch.where(dark, scene.dark[:, tile], scene.lit[:, tile])
    seen, before = Cast(*(part[visible] for part in seen)), before[visible]
    mine = row_of[seen.state, seen.tile]
    foreground = _foreground(look, parts, scene.rays, seen, _colours(look, state).to(device))
    colour[:, mine] = torch.where(before, foreground, colour[:, mine])
    plain = _bytes(view.mean(scene.lit))
    tiles = plain[:, None].expand(-1, count, -1, -1).clone()
    tiles[:, row, tile] = _bytes(view.mean(colour))
    return view.picture(tiles.transpose(0, 1))


class _Light(NamedTuple):
    """Light at points: ambient, diffuse from the lamp, and specular."""

    around: Float[Tensor, "row ray"]
    key: Float[Tensor, "row ray"]
    gloss: Float[Tensor, "row ray"]


def _light(look: Look, point: Vector, normal: Vector, direction: Vector) -> _Light:
    lamp = (move(Vector.of(*look.lamp), point.x.device) - point).unit()
    shine = normal.dot((lamp - direction).unit()).clamp_min(0)
    # the rounding of a product is uniquely defined, unlike that of a power
    fourth = shine * shine * shine * shine
    return _Light(
        look.ambient + look.head * (-normal.dot(direction)).clamp_min(0),
        look.key * normal.dot(lamp).clamp_min(0),
        look.gloss * fourth * fourth * fourth * fourth * fourth,
    )


def _foreground(
    look: Look, parts: list[Part], rays: Bundle, seen: Cast, colours: Float[Tensor, "state 3 3"]
) -> Float[Tensor, "3 row ray"]:
    """Colours of finger and cube; arbitrary for rays that hit neither."""
    direction = take(rays.direction, seen.tile)
    point = rays.apex + direction * seen.distance
    normal = normals(parts, seen, point)
    light = _light(look, point, normal, direction)
    dark = shaded(
        parts, move(Vector.of(*look.lamp), point.x.device), seen.state, point + normal * _OFF
    )
    cube, tip = seen.part == _CUBE_PART, seen.part == _TIP_PART
    shade = light.around + light.key.where(~dark, 0)
    gloss = light.gloss.where(~(dark | cube), 0)
    mine = colours[seen.state]
    channels = []
    for channel in range(3):
        link, ball, block = (mine[:, part, channel, None] for part in range(3))
        base = torch.where(cube, block, torch.where(tip, ball, link))
        channels.append(base * shade + gloss)
    return torch.stack(channels)


def _colours(look: Look, state: Float[Tensor, "state 7"]) -> Float[Tensor, "state 3 3"]:
    """Colours of links, tip and cube; the cube has its hue at full saturation and value."""
    turn = state[:, 0].double() / 60
    hue = torch.stack([(turn - 3).abs() - 1, 2 - (turn - 2).abs(), 2 - (turn - 4).abs()], dim=1)
    fixed = torch.tensor([look.link, look.tip], dtype=torch.float64).expand(len(state), 2, 3)
    return torch.cat([fixed, hue.clamp(0, 1)[:, None]], dim=1).to(torch.float32)


def _finger(state: Float[Tensor, "state 7"]) -> list[Part]:
    """The links, the tip and the cube."""
    first, second, third, x, y, angle = state.mT[1:, :, None]
    upper = Frame.at(z=BASE).turned_y(first)
    middle = upper.turned_x(-second)
    lower = middle.moved(z=-LINK).turned_x(third)
    low, high, radius = LOWER
    return [
        Part(Cylinder(0.021, -0.025, 0.18), upper.cycled().cycled()),
        Part(Box(0.018, 0.06, 0.02), upper.moved(-0.004, 0.09)),
        Part(Cylinder(0.022, 0.014, 0.053), middle.cycled()),
        Part(Box(0.0135, 0.016, 0.08), middle.moved(0.034, z=-0.08)),
        Part(Cylinder(0.020, 0.014, 0.05), middle.moved(z=-LINK).cycled()),
        Part(Cylinder(0.013, -0.008, 0.014), lower.cycled()),
        Part(Capsule(radius, -high, -low), lower),
        Part(Sphere(TIP), lower.moved(z=-LINK)),
        Part(Box(CUBE / 2, CUBE / 2, CUBE / 2), Frame.at(x, y, CUBE / 2).turned_z(angle)),
    ]


def _stage() -> list[Part]:
    """A flat floor, the wall of a bowl around it, its rim and outside, and the ground."""
    floor, bowl, rim, height, ground = _STAGE
    return [
        Part(Ring(0.0, floor), Frame.at()),
        Part(Bowl(bowl, _ELLIPSOID), Frame.at(z=height - _ELLIPSOID)),
        Part(Ring(bowl, rim), Frame.at(z=height)),
        Part(Cylinder(rim, ground, height, closed=False), Frame.at()),
        Part(Ring(0.0, 100.0), Frame.at(z=ground)),
    ]


def _bytes(colour: Float[Tensor, "*rows"]) -> UInt8[Tensor, "*rows"]:
    return (colour.clamp(0, 1) * 255 + 0.5).to(torch.uint8)
