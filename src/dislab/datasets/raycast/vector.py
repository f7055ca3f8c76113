"""Vectors stored by component."""

from dataclasses import dataclass
from typing import Final, final

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
