"""A pinhole camera: generates rays in square tiles, and assembles pictures from their colours."""

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from dislab.datasets.raycast.casting import Bundle, bundle
from dislab.datasets.raycast.vector import Vector


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
