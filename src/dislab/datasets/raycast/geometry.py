"""Vectors, stored by component, rays, and frames: position and orientation of shapes."""

from dataclasses import dataclass
from typing import Final, NamedTuple, final

import torch
from jaxtyping import Float
from torch import Tensor

Scalar = Float[Tensor, "..."] | int | float
"""A number, or one number per row or ray."""

FAR: Final = 1e9
"""The distance of a ray without a hit."""


@final
@dataclass(frozen=True, eq=False)
class Vector:
    """Points or directions, one tensor per component; the three broadcast against each other.

    Components are stored separately, because operations on them are several times as fast on a CPU
    as operations on triples. Rays use only sums, products, quotients and roots, whose rounding is
    uniquely defined, so that an image does not depend on other images in the batch.
    """

    x: Float[Tensor, "..."]
    y: Float[Tensor, "..."]
    z: Float[Tensor, "..."]

    @staticmethod
    def of(x: Scalar, y: Scalar, z: Scalar, *, device: torch.device | None = None) -> "Vector":
        """A vector of numbers or tensors; numbers become tensors of shape (1, 1)."""
        return Vector(_tensor(x, device), _tensor(y, device), _tensor(z, device))

    def __add__(self, vector: "Vector") -> "Vector":
        """Sum."""
        return Vector(self.x + vector.x, self.y + vector.y, self.z + vector.z)

    def __sub__(self, vector: "Vector") -> "Vector":
        """Difference."""
        return Vector(self.x - vector.x, self.y - vector.y, self.z - vector.z)

    def __mul__(self, factor: Scalar) -> "Vector":
        """Product with a scalar."""
        return Vector(self.x * factor, self.y * factor, self.z * factor)

    def __neg__(self) -> "Vector":
        """Negation."""
        return Vector(-self.x, -self.y, -self.z)

    def dot(self, vector: "Vector") -> Float[Tensor, "..."]:
        """Scalar product."""
        return self.x * vector.x + self.y * vector.y + self.z * vector.z

    def cross(self, vector: "Vector") -> "Vector":
        """Cross product."""
        return Vector(
            self.y * vector.z - self.z * vector.y,
            self.z * vector.x - self.x * vector.z,
            self.x * vector.y - self.y * vector.x,
        )

    def norm(self) -> Float[Tensor, "..."]:
        """Length."""
        return self.dot(self).sqrt()

    def unit(self) -> "Vector":
        """Normalised vector; a zero vector is unchanged."""
        return self * (1 / self.norm().clamp_min(1e-12))

    def where(self, chosen: Tensor, vector: "Vector") -> "Vector":
        """This vector where `chosen` is true, `vector` elsewhere."""
        return Vector(
            torch.where(chosen, self.x, vector.x),
            torch.where(chosen, self.y, vector.y),
            torch.where(chosen, self.z, vector.z),
        )


def _tensor(value: Scalar, device: torch.device | None) -> Float[Tensor, "..."]:
    return value if isinstance(value, Tensor) else torch.full((1, 1), float(value), device=device)


class Ray(NamedTuple):
    """Rays.

    Attributes:
        origin: Start points.
        direction: Directions; distances are multiples of their length.
    """

    origin: Vector
    direction: Vector

    def at(self, distance: Float[Tensor, "..."]) -> Vector:
        """Points at a distance along the rays."""
        return self.origin + self.direction * distance


@final
@dataclass(frozen=True, eq=False)
class Frame:
    """A rigid motion from the coordinates of a part to those of the world."""

    x: Vector
    y: Vector
    z: Vector
    origin: Vector

    @staticmethod
    def at(x: Scalar = 0.0, y: Scalar = 0.0, z: Scalar = 0.0) -> "Frame":
        """A frame at a position, with the axes of the world."""
        axes = (Vector.of(1, 0, 0), Vector.of(0, 1, 0), Vector.of(0, 0, 1))
        return Frame(*axes, Vector.of(x, y, z))

    def moved(self, x: Scalar = 0.0, y: Scalar = 0.0, z: Scalar = 0.0) -> "Frame":
        """This frame translated along its own axes."""
        way = self.outside(Vector.of(x, y, z, device=self.origin.x.device))
        return Frame(self.x, self.y, self.z, way + self.origin)

    def turned_x(self, angle: Float[Tensor, "..."]) -> "Frame":
        """This frame rotated about its first axis, from the second to the third."""
        # rounding to 32 bits hides platform differences in the last bits of 64-bit functions
        cosine, sine = (
            turn.to(torch.float32) for turn in (angle.double().cos(), angle.double().sin())
        )
        y, z = self.y * cosine + self.z * sine, self.z * cosine - self.y * sine
        return Frame(self.x, y, z, self.origin)

    def turned_y(self, angle: Float[Tensor, "..."]) -> "Frame":
        """This frame rotated about its second axis, from the third to the first."""
        return self.cycled().turned_x(angle).cycled().cycled()

    def turned_z(self, angle: Float[Tensor, "..."]) -> "Frame":
        """This frame rotated about its third axis, from the first to the second."""
        return self.cycled().cycled().turned_x(angle).cycled()

    def cycled(self) -> "Frame":
        """This frame with its axes permuted to second, third, first.

        Aligns shapes about the third axis with the first one or, applied twice, with the second
        one.
        """
        return Frame(self.y, self.z, self.x, self.origin)

    def outside(self, vector: Vector) -> Vector:
        """Converts a direction from part to world coordinates."""
        return self.x * vector.x + self.y * vector.y + self.z * vector.z

    def inside(self, vector: Vector) -> Vector:
        """Converts a direction from world to part coordinates."""
        return Vector(vector.dot(self.x), vector.dot(self.y), vector.dot(self.z))

    def point_inside(self, point: Vector) -> Vector:
        """Converts a point from world to part coordinates."""
        return self.inside(point - self.origin)

    def ray_inside(self, ray: Ray) -> Ray:
        """Converts a ray from world to part coordinates."""
        return Ray(self.point_inside(ray.origin), self.inside(ray.direction))


def nonzero(value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Numbers moved away from zero, to be safe divisors."""
    return torch.where(value.abs() < 1e-9, torch.full_like(value, 1e-9), value)
