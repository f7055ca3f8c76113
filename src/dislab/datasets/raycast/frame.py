"""Frames: where a shape is and how it is turned."""

from dataclasses import dataclass
from typing import NamedTuple, final

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.datasets.raycast.vector import Scalar, Vector


class Ray(NamedTuple):
    """Half lines.

    Attributes:
        origin: Where they start.
        direction: Where they go; distances count in its length.
    """

    origin: Vector
    direction: Vector

    def at(self, distance: Float[Tensor, "..."]) -> Vector:
        """The point at a distance."""
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
        """A frame with the axes of the world."""
        axes = (Vector.of(1, 0, 0), Vector.of(0, 1, 0), Vector.of(0, 0, 1))
        return Frame(*axes, Vector.of(x, y, z))

    def moved(self, x: Scalar = 0.0, y: Scalar = 0.0, z: Scalar = 0.0) -> "Frame":
        """This frame, moved along its own axes."""
        way = self.outside(Vector.of(x, y, z, device=self.origin.x.device))
        return Frame(self.x, self.y, self.z, way + self.origin)

    def turned_x(self, angle: Float[Tensor, "..."]) -> "Frame":
        """This frame, turned about its first axis from the second to the third."""
        # a float of 32 bits is the same for every way in which one of 64 bits was rounded
        cosine, sine = (
            turn.to(torch.float32) for turn in (angle.double().cos(), angle.double().sin())
        )
        y, z = self.y * cosine + self.z * sine, self.z * cosine - self.y * sine
        return Frame(self.x, y, z, self.origin)

    def turned_y(self, angle: Float[Tensor, "..."]) -> "Frame":
        """This frame, turned about its second axis from the third to the first."""
        return self.cycled().turned_x(angle).cycled().cycled()

    def turned_z(self, angle: Float[Tensor, "..."]) -> "Frame":
        """This frame, turned about its third axis from the first to the second."""
        return self.cycled().cycled().turned_x(angle).cycled()

    def cycled(self) -> "Frame":
        """The frame whose axes are this one's second, third and first.

        Shapes about the third axis are laid along the first one by it, and along the second one by
        doing it twice.
        """
        return Frame(self.y, self.z, self.x, self.origin)

    def outside(self, vector: Vector) -> Vector:
        """A direction of the part, in the world."""
        return self.x * vector.x + self.y * vector.y + self.z * vector.z

    def inside(self, vector: Vector) -> Vector:
        """A direction of the world, in coordinates of the part."""
        return Vector(vector.dot(self.x), vector.dot(self.y), vector.dot(self.z))

    def point_inside(self, point: Vector) -> Vector:
        """A point of the world, in coordinates of the part."""
        return self.inside(point - self.origin)

    def ray_inside(self, ray: Ray) -> Ray:
        """A ray of the world, in coordinates of the part."""
        return Ray(self.point_inside(ray.origin), self.inside(ray.direction))


def nonzero(value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The numbers, moved away from zero, so that they are safe divisors."""
    return torch.where(value.abs() < 1e-9, torch.full_like(value, 1e-9), value)
