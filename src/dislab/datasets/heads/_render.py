"""Renders a parametric head: first hits of parallel rays, then shading for each light."""

import math
from functools import lru_cache
from typing import Final, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, UInt8
from torch import Tensor

from dislab.datasets.heads._surface import COLUMNS

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
    to the viewer's right. Images are drawn on the device of the surface.
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
