"""Shapes: intersection distances of rays, and surface normals.

A shape is defined in the coordinates of its frame. A ray that starts inside a solid does not hit
it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dislab.datasets.raycast.geometry import FAR, Ray, Scalar, Vector, nonzero

Distance = Float[Tensor, "..."]

_NEAR: Final = 1e-5
"""Minimum distance of a hit; nearer ones belong to the surface that the ray starts from."""


class Shape(ABC):
    """A surface."""

    @abstractmethod
    def distance(self, ray: Ray) -> Distance:
        """Distance of rays to the surface, in multiples of the direction's length, or `FAR`."""

    @abstractmethod
    def normal(self, point: Vector) -> Vector:
        """Surface normals: unit vectors that point out of a solid."""

    @abstractmethod
    def reach(self) -> tuple[Scalar, Scalar]:
        """Bounding sphere: its centre, on the third axis, and its radius."""


@final
@dataclass(frozen=True, eq=False)
class Sphere(Shape):
    """A sphere around the origin."""

    radius: Scalar

    def distance(self, ray: Ray) -> Distance:
        """Distance to the first of the two intersections."""
        return _ball(ray, self.radius)

    def normal(self, point: Vector) -> Vector:
        """Normals that point away from the centre."""
        return point.unit()

    def reach(self) -> tuple[Scalar, Scalar]:
        """The sphere itself."""
        return 0.0, self.radius


@final
@dataclass(frozen=True, eq=False)
class Box(Shape):
    """A box around the origin, seen from outside or, as a room, from inside.

    Args:
        x: Half its length along the first axis.
        y: Half its length along the second axis.
        z: Half its length along the third axis.
        room: Whether it is seen from inside.
    """

    x: Scalar
    y: Scalar
    z: Scalar
    room: bool = False

    def distance(self, ray: Ray) -> Distance:
        """Distance at which a ray enters the last of three slabs; in a room, leaves the first."""
        near, far = zip(
            _slab(ray.origin.x, ray.direction.x, self.x),
            _slab(ray.origin.y, ray.direction.y, self.y),
            _slab(ray.origin.z, ray.direction.z, self.z),
            strict=True,
        )
        enter = torch.maximum(torch.maximum(near[0], near[1]), near[2])
        leave = torch.minimum(torch.minimum(far[0], far[1]), far[2])
        if self.room:
            return _seen(leave, enter < leave)
        return _seen(enter, enter < leave)

    def normal(self, point: Vector) -> Vector:
        """Normal of the nearest face, in coordinates relative to the box's half lengths."""
        x, y, z = point.x / self.x, point.y / self.y, point.z / self.z
        first = (x.abs() >= y.abs()) & (x.abs() >= z.abs())
        second = ~first & (y.abs() >= z.abs())
        sign = -1.0 if self.room else 1.0
        zero = torch.zeros_like(x + y + z)
        return Vector(
            torch.where(first, sign * x.sign(), zero),
            torch.where(second, sign * y.sign(), zero),
            torch.where(first | second, zero, sign * z.sign()),
        )

    def reach(self) -> tuple[Scalar, Scalar]:
        """The sphere through the corners."""
        squares = self.x * self.x + self.y * self.y + self.z * self.z
        return 0.0, squares**0.5


@final
@dataclass(frozen=True, eq=False)
class Cylinder(Shape):
    """A solid cylinder around the third axis, or a pipe without end caps.

    Args:
        radius: Its radius.
        low: Lower end on the axis.
        high: Upper end on the axis.
        closed: Whether it has end caps.
    """

    radius: Scalar
    low: Scalar
    high: Scalar
    closed: bool = True

    def distance(self, ray: Ray) -> Distance:
        """Distance to the first intersection with the lateral surface or an end cap."""
        mantle = _mantle(ray, self.radius, self.low, self.high)
        if not self.closed:
            return mantle
        origin, direction = ray
        # only the end cap on the side of the ray's origin is visible
        end = torch.where(direction.z < 0, _like(direction.z, self.high), self.low)
        distance = (end - origin.z) / nonzero(direction.z)
        x, y = origin.x + distance * direction.x, origin.y + distance * direction.y
        inside = x * x + y * y < self.radius * self.radius
        return torch.minimum(mantle, _seen(distance, inside))

    def normal(self, point: Vector) -> Vector:
        """Normals along the axis on an end cap, away from the axis on the lateral surface."""
        flat = torch.zeros_like(point.x + point.z)
        away = Vector(point.x, point.y, flat).unit()
        if not self.closed:
            return away
        depth = self.radius - (point.x * point.x + point.y * point.y).sqrt()
        top, bottom = self.high - point.z, point.z - self.low
        on_end = torch.minimum(top, bottom).abs() < depth.abs()
        along = torch.where(top < bottom, torch.ones_like(flat), -torch.ones_like(flat))
        return Vector(flat, flat, along).where(on_end, away)

    def reach(self) -> tuple[Scalar, Scalar]:
        """The sphere through the rims."""
        half = (self.high - self.low) / 2
        return (self.high + self.low) / 2, (self.radius * self.radius + half * half) ** 0.5


@final
@dataclass(frozen=True, eq=False)
class Capsule(Shape):
    """All points within a radius of a segment of the third axis.

    Args:
        radius: The radius.
        low: Lower end of the segment.
        high: Upper end of the segment.
    """

    radius: Scalar
    low: Scalar
    high: Scalar

    def distance(self, ray: Ray) -> Distance:
        """Distance to the first intersection with the lateral surface or a spherical end."""
        nearest = _mantle(ray, self.radius, self.low, self.high)
        for end in (self.low, self.high):
            start = Vector(ray.origin.x, ray.origin.y, ray.origin.z - end)
            nearest = torch.minimum(nearest, _ball(Ray(start, ray.direction), self.radius))
        return nearest

    def normal(self, point: Vector) -> Vector:
        """Normals that point away from the nearest point of the segment."""
        low, high = _like(point.z, self.low), _like(point.z, self.high)
        axis = torch.minimum(torch.maximum(point.z, low), high)
        return Vector(point.x, point.y, point.z - axis).unit()

    def reach(self) -> tuple[Scalar, Scalar]:
        """The sphere around the midpoint."""
        return (self.high + self.low) / 2, (self.high - self.low) / 2 + self.radius


@final
@dataclass(frozen=True, eq=False)
class Ring(Shape):
    """A flat ring, or a disc, in the plane of the first two axes, with normals along the third."""

    inner: Scalar
    outer: Scalar

    def distance(self, ray: Ray) -> Distance:
        """Distance to the intersection with the plane, if it is within the ring."""
        distance = -ray.origin.z / nonzero(ray.direction.z)
        point = ray.at(distance)
        square = point.x * point.x + point.y * point.y
        inside = (square >= self.inner * self.inner) & (square < self.outer * self.outer)
        return _seen(distance, inside)

    def normal(self, point: Vector) -> Vector:
        """Normals along the third axis."""
        zero = torch.zeros_like(point.x)
        return Vector(zero, zero, torch.ones_like(zero))

    def reach(self) -> tuple[Scalar, Scalar]:
        """The sphere around the rim."""
        return 0.0, self.outer


@final
@dataclass(frozen=True, eq=False)
class Bowl(Shape):
    """The inside of the lower half of an ellipsoid whose lowest point is the origin.

    Args:
        radius: Radius of its rim.
        depth: Height of its rim above the lowest point; half the ellipsoid's height.
    """

    radius: Scalar
    depth: Scalar

    def distance(self, ray: Ray) -> Distance:
        """Distance at which a ray leaves the ellipsoid, if below the rim."""
        origin, direction = self._round(ray.origin, 1.0), self._round(ray.direction, 0.0)
        length, along = direction.dot(direction), origin.dot(direction)
        inside = along * along - length * (origin.dot(origin) - 1)
        distance = (inside.clamp_min(0).sqrt() - along) / length
        height = ray.origin.z + distance * ray.direction.z
        return _seen(distance, (inside > 0) & (height < self.depth))

    def normal(self, point: Vector) -> Vector:
        """Normals that point into the bowl."""
        above = point.z - self.depth
        flat, steep = self.radius * self.radius, self.depth * self.depth
        return -Vector(point.x / flat, point.y / flat, above / steep).unit()

    def reach(self) -> tuple[Scalar, Scalar]:
        """A sphere around the centre of the rim."""
        return self.depth, max(self.radius, self.depth)

    def _round(self, vector: Vector, lift: float) -> Vector:
        """Converts a vector to coordinates in which the ellipsoid is the unit sphere."""
        return Vector(vector.x / self.radius, vector.y / self.radius, vector.z / self.depth - lift)


def _ball(ray: Ray, radius: Scalar) -> Distance:
    length = ray.direction.dot(ray.direction)
    along = ray.origin.dot(ray.direction)
    inside = along * along - length * (ray.origin.dot(ray.origin) - radius * radius)
    return _seen((-along - inside.clamp_min(0).sqrt()) / length, inside > 0)


def _mantle(ray: Ray, radius: Scalar, low: Scalar, high: Scalar) -> Distance:
    origin, direction = ray
    length = (direction.x * direction.x + direction.y * direction.y).clamp_min(1e-12)
    along = origin.x * direction.x + origin.y * direction.y
    beyond = origin.x * origin.x + origin.y * origin.y - radius * radius
    inside = along * along - length * beyond
    distance = (-along - inside.clamp_min(0).sqrt()) / length
    height = origin.z + distance * direction.z
    return _seen(distance, (inside > 0) & (height > low) & (height < high))


def _slab(origin: Tensor, direction: Tensor, half: Scalar) -> tuple[Distance, Distance]:
    """Distances at which rays enter and leave the space between two planes."""
    slope = 1 / nonzero(direction)
    first, second = (-half - origin) * slope, (half - origin) * slope
    return torch.minimum(first, second), torch.maximum(first, second)


def _seen(distance: Distance, met: Bool[Tensor, "..."]) -> Distance:
    return torch.where(met & (distance > _NEAR), distance, FAR)


def _like(tensor: Tensor, value: Scalar) -> Tensor:
    return torch.ones_like(tensor) * value
