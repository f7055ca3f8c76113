"""Casting: a camera's rays, first hits of rays, and shadows, for many states at once.

The rays of a camera, or of a lamp, start at one point and are grouped in tiles. For each part, only
the tiles that it may intersect are processed, which leaves a small fraction of the work.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final, NamedTuple, TypeVar, final

import torch
from jaxtyping import Bool, Float, Int, Shaped, UInt8
from torch import Tensor

from dislab.datasets.raycast.geometry import FAR, Frame, Ray, Vector
from dislab.datasets.raycast.shapes import Shape

NOTHING: Final = 255
"""Part number of a ray without a hit."""

_SLACK: Final = 1e-3
"""Margin added to the size of a tile, in rad, so that rounding errors miss no hits."""

_Value = TypeVar("_Value")


class Part(NamedTuple):
    """A shape with its pose; numbers that differ between states have shape (states, 1).

    Attributes:
        shape: The shape.
        frame: Its pose.
    """

    shape: Shape
    frame: Frame


class Bundle(NamedTuple):
    """Rays from one point, by tile.

    Attributes:
        apex: Common origin, shape (1, 1).
        direction: Unit direction vectors, shape (tiles, rays).
        axis: Unit vector to the centre of each tile, shape (tiles, 1).
        spread: Largest angle between a ray and its tile's axis, in rad, shape (tiles, 1).
    """

    apex: Vector
    direction: Vector
    axis: Vector
    spread: Float[Tensor, "tile 1"]


class Cast(NamedTuple):
    """First hits of the rays of a bundle; tiles that are left out have none.

    Attributes:
        state: The state of each row.
        tile: The tile of each row.
        distance: Distance to the hit along each ray, or `FAR`.
        part: Number of the part that is hit, or `NOTHING`.
    """

    state: Int[Tensor, " row"]
    tile: Int[Tensor, " row"]
    distance: Float[Tensor, "row ray"]
    part: UInt8[Tensor, "row ray"]


def bundle(apex: Vector, direction: Vector) -> Bundle:
    """Creates a bundle of rays and computes axis and spread of its tiles.

    Args:
        apex: Common origin, shape (1, 1).
        direction: Unit direction vectors, shape (tiles, rays).
    """
    middle = Vector(
        direction.x.mean(1, keepdim=True),
        direction.y.mean(1, keepdim=True),
        direction.z.mean(1, keepdim=True),
    ).unit()
    spread = direction.dot(middle).amin(1, keepdim=True).clamp(-1, 1).acos()
    return Bundle(apex, direction, middle, spread)


def cast(parts: Sequence[Part], rays: Bundle, states: int) -> Cast:
    """Computes the first hits of the rays for each state."""
    axis = Vector(rays.axis.x.mT, rays.axis.y.mT, rays.axis.z.mT)
    shape = (states, axis.x.shape[1])
    near = torch.stack(
        [_may_meet(part, rays.apex, axis, rays.spread.mT).expand(shape) for part in parts]
    )
    state, tile = near.any(0).nonzero(as_tuple=True)
    distance = torch.full((len(state), rays.direction.x.shape[1]), FAR, device=tile.device)
    owner = torch.full_like(distance, NOTHING, dtype=torch.uint8)
    for index, part in enumerate(parts):
        rows = near[index, state, tile].nonzero()[:, 0]
        ray = Ray(rays.apex, take(rays.direction, tile[rows]))
        shape_there, frame = take(part, state[rows])
        distances = shape_there.distance(frame.ray_inside(ray))
        before = distance[rows]
        distance[rows] = torch.minimum(distances, before)
        owner[rows] = torch.where(distances < before, index, owner[rows])
    return Cast(state, tile, distance, owner)


def normals(parts: Sequence[Part], seen: Cast, point: Vector) -> Vector:
    """Surface normals at ray hits, unit vectors; zero for rays without a hit."""
    out = Vector(*(torch.zeros_like(seen.distance) for _ in range(3)))
    for index, part in enumerate(parts):
        mine = seen.part == index
        rows = mine.any(1).nonzero()[:, 0]
        shape, frame = take(part, seen.state[rows])
        normal = frame.outside(shape.normal(frame.point_inside(take(point, rows))))
        for component, value in ((out.x, normal.x), (out.y, normal.y), (out.z, normal.z)):
            component[rows] = torch.where(mine[rows], value, component[rows])
    return out


def shaded(
    parts: Sequence[Part], lamp: Vector, state: Int[Tensor, " row"], point: Vector
) -> Bool[Tensor, "row ray"]:
    """Whether a part occludes a lamp at points, which should be slightly off their surface."""
    way = point - lamp
    length = way.norm()
    rays = bundle(lamp, way * (1 / length))
    dark = torch.zeros_like(length, dtype=torch.bool)
    for part in parts:
        posed = take(part, state)
        near = _may_meet(posed, lamp, rays.axis, rays.spread)
        rows = near.expand(len(state), 1).nonzero()[:, 0]
        shape, frame = take(posed, rows)
        distances = shape.distance(frame.ray_inside(Ray(lamp, take(rays.direction, rows))))
        dark[rows] = dark[rows] | (distances < length[rows])
    return dark


def take(value: _Value, rows: Int[Tensor, " row"]) -> _Value:
    """Selects rows of a vector, frame, shape or part; tensors with a single row are unchanged."""
    selected: _Value = _mapped(value, lambda tensor: tensor if len(tensor) == 1 else tensor[rows])
    return selected


def move(value: _Value, device: torch.device) -> _Value:
    """Copies a vector, frame, shape or part to another device."""
    moved: _Value = _mapped(value, lambda tensor: tensor.to(device))
    return moved


def _mapped(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Applies a function to every tensor in a nested value."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, Part):
        return Part(_mapped(value.shape, change), _mapped(value.frame, change))
    if is_dataclass(value) and not isinstance(value, type):
        old = {field.name: getattr(value, field.name) for field in fields(value)}
        return replace(value, **{name: _mapped(part, change) for name, part in old.items()})
    return value


def _may_meet(
    part: Part, apex: Vector, axis: Vector, spread: Float[Tensor, "..."]
) -> Bool[Tensor, "..."]:
    """Whether a cone of rays may hit a part, tested with the part's bounding sphere."""
    centre, radius = part.shape.reach()
    way = part.frame.moved(z=centre).origin - apex
    away = way.norm()
    angle = (way.dot(axis) / away).clamp(-1, 1).acos()
    ball = (radius / away).clamp(max=1).asin()
    return (angle <= spread + ball + _SLACK) | (away <= radius)


@final
@dataclass(frozen=True)
class Camera:
    """A camera with a square picture and a level horizon.

    Args:
        position: Position of the camera.
        target: Point at the centre of the picture; not vertically above or below the camera.
        field: Vertical field of view in degrees.
        side: Height and width of the picture in pixels.
        samples: Rays per pixel in each direction.
        tile: Height and width of a tile in pixels; must divide `side`.
    """

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    field: float
    side: int
    samples: int = 2
    tile: int = 8

    def rays(self, device: torch.device | None = None) -> Bundle:
        """The rays by tile; within a tile, all pixels of the first sample, then of the next."""
        position, target = (
            Vector.of(*map(_exact, point)) for point in (self.position, self.target)
        )
        forward = (target - position).unit()
        right = forward.cross(Vector.of(*map(_exact, (0.0, 0.0, 1.0)))).unit()
        up = right.cross(forward)
        down, across = self._places()
        half = math.tan(math.radians(self.field) / 2)
        direction = (forward + right * (across * half) - up * (down * half)).unit()
        return bundle(_single(position, device), _single(direction, device))

    def mean(self, colour: Float[Tensor, "*rows ray"]) -> Float[Tensor, "*rows pixel"]:
        """Mean over the rays of each pixel of a tile."""
        shape = colour.shape[:-1]
        samples = colour.reshape(*shape, self.samples**2, self.tile**2).unbind(-2)
        # sequential, as the order of summation affects the last bit
        total = samples[0]
        for sample in samples[1:]:
            total = total + sample
        return total / self.samples**2

    def picture(self, pixels: Shaped[Tensor, "*rows tile pixel"]) -> Shaped[Tensor, "*rows y x"]:
        """Assembles pictures from their tiles."""
        shape, count = pixels.shape[:-2], self.side // self.tile
        tiles = pixels.reshape(-1, count, count, self.tile, self.tile).transpose(2, 3)
        return tiles.reshape(*shape, self.side, self.side)

    def _places(self) -> tuple[Float[Tensor, "tile ray"], Float[Tensor, "tile ray"]]:
        """Rows and columns of the rays, from -1 to 1."""
        rays = self.side * self.samples
        line = (torch.arange(rays, dtype=torch.float64) + 0.5) / rays * 2 - 1
        count = self.side // self.tile
        split = line.view(count, self.tile, self.samples)
        shape = (count, count, self.samples, self.samples, self.tile, self.tile)
        down = split.permute(0, 2, 1)[:, None, :, None, :, None].expand(shape)
        across = split.permute(0, 2, 1)[None, :, None, :, None, :].expand(shape)
        return down.reshape(count**2, -1), across.reshape(count**2, -1)


def _exact(value: float) -> Float[Tensor, "1 1"]:
    return torch.full((1, 1), float(value), dtype=torch.float64)


def _single(vector: Vector, device: torch.device | None) -> Vector:
    return Vector(*(part.to(device, torch.float32) for part in (vector.x, vector.y, vector.z)))
