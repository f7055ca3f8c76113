"""Renders a parametric head: its surface, first hits of parallel rays, then shading for each light.

A head is star-shaped: an ellipsoid plus Gaussian bumps (nose, brows, eye sockets, cheeks, ears,
mouth, chin) along the radius. In the head's frame x points to the viewer's right, y up, and z out
of the face. Its form is defined by eight numbers in [-1, 1].
"""

import math
from functools import lru_cache
from typing import Final, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, UInt8
from torch import Tensor

NUMBERS: Final = 8
"""Number of parameters of an identity."""
ROWS: Final = 128
"""Number of directions from the crown to the chin."""
COLUMNS: Final = 256
"""Number of directions around the head."""

_STEP: Final = 5e-3
"""Step in radians for numerical derivatives of the radius."""

Directions = Float[Tensor, "3 row column"]
Map = Float[Tensor, "row column"]


class Bump(NamedTuple):
    """One bump.

    Attributes:
        towards: Direction of its centre, not normalised.
        width: Its width, as sqrt(1 - cos) of the angle.
        height: Its contribution to the radius at its centre.
    """

    towards: tuple[float, float, float]
    width: float
    height: float


def surface(identity: list[float]) -> Float[Tensor, "5 row column"]:
    """Radius, normal (x, y, z) and reflectance of one head in all directions.

    An identity is eight numbers in [-1, 1]. Row r is at the angle π (r + 1/2) / 128 from the crown
    downwards, column c at 2π (c + 1/2) / 256 - π from the face to the right. The outermost columns
    are repeated on the other side, so that the map has 258 columns and can be interpolated all
    around.
    """
    polar = ((torch.arange(ROWS) + 0.5) * math.pi / ROWS)[:, None]
    around = ((torch.arange(COLUMNS) + 0.5) * 2 * math.pi / COLUMNS - math.pi)[None]
    shape = _bumps(identity)

    def radius(polar: Tensor, around: Tensor) -> Tensor:
        return _radius(_directions(polar, around), identity, shape)

    middle = radius(polar, around)
    down = (radius(polar + _STEP, around) - radius(polar - _STEP, around)) / (2 * _STEP)
    right = (radius(polar, around + _STEP) - radius(polar, around - _STEP)) / (2 * _STEP)
    outward = _directions(polar, around)
    downward = _directions(polar + math.pi / 2, around)
    rightward = torch.stack((around.cos(), 0 * around, -around.sin())).expand_as(outward)
    normal = middle * outward - down * downward - right / polar.sin() * rightward
    normal = normal / normal.norm(dim=0)
    table = torch.cat((middle[None], normal, _reflectance(outward, identity)[None]))
    return torch.cat((table[..., -1:], table, table[..., :1]), dim=-1)


def _directions(polar: Tensor, around: Tensor) -> Directions:
    level = polar.sin()
    y = polar.cos().expand(ROWS, COLUMNS)
    return torch.stack((level * around.sin(), y, level * around.cos()))


def _bumps(identity: list[float]) -> list[Bump]:
    _, chin, cheek, nose, droop, ear, eye, brow = identity
    bumps = [
        Bump((0.0, -0.10 + 0.05 * droop, 1.0), 0.12 + 0.02 * ear, 0.22 + 0.07 * nose),
        Bump((0.0, 0.08, 1.0), 0.10, 0.08 + 0.02 * nose),  # bridge of the nose
        Bump((0.0, 0.38, 0.90), 0.30, 0.05 + 0.03 * brow),
        Bump((0.0, -0.40, 0.92), 0.12, 0.04),  # mouth
        Bump((0.0, -0.75, 0.72), 0.22, 0.12 + 0.08 * chin),
    ]
    for side in (-1, 1):
        bumps += [
            Bump((side * (0.32 + 0.05 * eye), 0.14, 0.90), 0.14, -0.085 + 0.02 * brow),
            Bump((side * 0.55, -0.15, 0.75), 0.28, 0.05 + 0.05 * cheek),
            Bump((float(side), 0.02, -0.05), 0.10, 0.11 + 0.03 * ear),
        ]
    return bumps


def _radius(outward: Directions, identity: list[float], bumps: list[Bump]) -> Map:
    width, chin, cheek = identity[:3]
    axes = (0.74 + 0.06 * width, 1.0 + 0.05 * chin, 0.88 + 0.04 * cheek)
    x, y, z = (component / axis for component, axis in zip(outward, axes, strict=True))
    radius: Tensor = (x * x + y * y + z * z).rsqrt()
    for bump in bumps:
        radius = radius + bump.height * torch.exp(-_away(outward, bump.towards) / bump.width**2)
    return radius


def _reflectance(outward: Directions, identity: list[float]) -> Map:
    """Reflectance of skin, hair, brows, lips and eyes, with later ones covering earlier ones."""
    *_, hair, eye, skin = identity
    _, y, z = outward
    painted = torch.full((ROWS, COLUMNS), 0.72 + 0.14 * skin)
    hairline = 0.55 + 0.10 * hair - 0.22 * z.clamp_min(-0.2)
    covered = (y > hairline) | ((z < -0.2) & (y > -0.35))
    painted = torch.where(covered, 0.22 + 0.14 * eye, painted)
    lips = _near(outward, (0.0, -0.42, 0.90), 0.19, 0.045)
    painted = torch.where(lips, 0.55 * painted, painted)
    for side in (-1, 1):
        across = side * (0.32 + 0.05 * eye)
        brow = _near(outward, (across, 0.33, 0.88), 0.15, 0.03)
        painted = torch.where(brow, 0.25 + 0.1 * eye, painted)
        distance = _away(outward, (across, 0.14, 0.90))
        painted = torch.where(distance < 0.007, 0.95, painted)
        painted = torch.where(distance < 0.0025, 0.08, painted)
    return painted


def _near(
    outward: Directions, towards: tuple[float, float, float], width: float, height: float
) -> Tensor:
    """Whether a direction lies in a rectangle of the face, given by half width and half height."""
    length = math.hypot(*towards)
    x, y, z = outward
    across, up = (x - towards[0] / length).abs(), (y - towards[1] / length).abs()
    near: Tensor = (across < width) & (up < height) & (z > 0)
    return near


def _away(outward: Directions, towards: tuple[float, float, float]) -> Map:
    """One minus the cosine of the angle between two directions."""
    length = math.hypot(*towards)
    x, y, z = (part / length for part in towards)
    return 1 - (outward[0] * x + outward[1] * y + outward[2] * z)


VERSION: Final = 1
"""Version of the renderer; cached renderings of other versions are not used."""

SIDE: Final = 64
"""Height and width of an image in pixels."""

SAMPLES: Final = 2
"""Rays per pixel in each direction."""

_HALF_WIDTH: Final = 1.25
"""Distance from the centre of the image to its border, in units of about the head's height."""
_FAR: Final = -0.7
"""Maximum depth of visible points."""
_STEPS: Final = 20
_HALVINGS: Final = 6
_LIGHT_ELEVATION: Final = 0.35
"""Elevation of the light above eye level, in radians."""
_AMBIENT: Final = 0.16
_DIFFUSE: Final = 0.92
_BACKGROUND: Final = 0.02

Coordinates = tuple[Tensor, Tensor, Tensor]


class Rays(NamedTuple):
    """Rays that can hit a head, along -z of the viewer's frame.

    Attributes:
        sample: Number of the image sample of each ray.
        x: Offset to the right.
        y: Offset upwards.
    """

    sample: Tensor
    x: Tensor
    y: Tensor


def render(
    surface: Float[Tensor, "5 row column"],
    azimuth: float,
    elevation: float,
    lights: list[float],
) -> UInt8[Tensor, "light 64 64"]:
    """Images of one head in one pose, one per light, with Lambertian shading, no cast shadows.

    Angles are in radians: `azimuth` to the viewer's right, `elevation` up, and one angle per light
    to the viewer's right. Images are rendered on the device of the surface.
    """
    device = surface.device
    rays = Rays(*(part.to(device) for part in _rays(float(surface[0].max()))))
    pose = azimuth, elevation
    depth, hit = _first_hit(surface, rays, pose)
    looked_up = _look_up(surface[1:], _to_head(rays.x[hit], rays.y[hit], depth[hit], pose))
    normal = _to_viewer(looked_up[0], looked_up[1], looked_up[2], pose)
    size = SIDE * SAMPLES
    canvas = torch.full((len(lights), size * size), _BACKGROUND, device=device)
    for row, light in zip(canvas, lights, strict=True):
        level = math.cos(_LIGHT_ELEVATION)
        towards = level * math.sin(light), math.sin(_LIGHT_ELEVATION), level * math.cos(light)
        facing = sum(part * n for part, n in zip(towards, normal, strict=True))
        assert isinstance(facing, Tensor)
        row[rays.sample[hit]] = looked_up[3] * (_AMBIENT + _DIFFUSE * facing.clamp_min(0))
    fine = canvas.clamp(0, 1).view(len(lights), SIDE, SAMPLES, SIDE, SAMPLES)
    return (fine.mean(dim=(2, 4)) * 255).round().to(torch.uint8)


@lru_cache(maxsize=4)
def _rays(reach: float) -> Rays:
    middles = (torch.arange(SIDE * SAMPLES) + 0.5) / (SIDE * SAMPLES) * 2 - 1
    x = (middles * _HALF_WIDTH)[None, :].expand(SIDE * SAMPLES, -1).reshape(-1)
    y = (-middles * _HALF_WIDTH)[:, None].expand(-1, SIDE * SAMPLES).reshape(-1)
    sample = torch.nonzero(x * x + y * y < reach * reach)[:, 0]
    return Rays(sample, x[sample], y[sample])


def _first_hit(
    surface: Float[Tensor, "5 row column"], rays: Rays, pose: tuple[float, float]
) -> tuple[Float[Tensor, " ray"], Tensor]:
    """Depth of each ray's first point inside the head, and whether there is one."""

    def inside(z: Tensor) -> Tensor:
        point = _to_head(rays.x, rays.y, z, pose)
        distance = _length(point)
        return distance < _look_up(surface[:1], point)[0]

    nearest = float(surface[0].max())
    step = (nearest - _FAR) / _STEPS
    outer = torch.full_like(rays.x, nearest)
    hit = torch.zeros_like(rays.x, dtype=torch.bool)
    for index in range(1, _STEPS + 1):
        depth = nearest - index * step
        hit |= inside(torch.full_like(rays.x, depth))
        outer = torch.where(hit, outer, depth)
    inner = outer - step
    for _ in range(_HALVINGS):
        middle = (outer + inner) / 2
        is_inside = inside(middle)
        inner = torch.where(is_inside, middle, inner)
        outer = torch.where(is_inside, outer, middle)
    return (outer + inner) / 2, hit


def _look_up(
    table: Float[Tensor, "channel row column"], point: Coordinates
) -> Float[Tensor, "channel point"]:
    """Interpolates a map of the surface in the directions of points."""
    x, y, z = point
    down = torch.acos((y / _length(point).clamp_min(1e-6)).clamp(-1, 1)) / math.pi * 2 - 1
    right = torch.atan2(x, z) / math.pi * (COLUMNS / (COLUMNS + 2))
    grid = torch.stack((right, down), dim=-1)[None, None]
    values = F.grid_sample(table[None], grid, padding_mode="border", align_corners=False)
    return values[0, :, 0]


def _length(point: Coordinates) -> Tensor:
    x, y, z = point
    return (x * x + y * y + z * z).sqrt()


def _to_head(x: Tensor, y: Tensor, z: Tensor, pose: tuple[float, float]) -> Coordinates:
    """Transforms from the viewer's frame to that of a head rotated by azimuth, then elevation."""
    (sine_a, cosine_a), (sine_e, cosine_e) = ((math.sin(a), math.cos(a)) for a in pose)
    level, up = sine_e * y + cosine_e * z, cosine_e * y - sine_e * z
    return cosine_a * x - sine_a * level, up, sine_a * x + cosine_a * level


def _to_viewer(x: Tensor, y: Tensor, z: Tensor, pose: tuple[float, float]) -> Coordinates:
    """The inverse of `_to_head`."""
    (sine_a, cosine_a), (sine_e, cosine_e) = ((math.sin(a), math.cos(a)) for a in pose)
    right, level = cosine_a * x + sine_a * z, -sine_a * x + cosine_a * z
    return right, cosine_e * y + sine_e * level, -sine_e * y + cosine_e * level
