"""Corrupted encoder inputs: images with added noise, or with a hidden rectangle."""

import math
from typing import Final

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from dislab.functional.checks import check_at_least
from dislab.functional.streams import Stream

InputNoise = tuple[float, float]
"""Standard deviations of the fine and the coarse noise, for pixels in [0, 1]; 0 adds none."""

_CELL: Final = 16
"""Pixels along each side of a cell of the coarse grid."""


def check_input_noise(noise: InputNoise) -> None:
    """Refuses standard deviations that are negative or not finite.

    Raises:
        InputError: A standard deviation is negative or not finite.
    """
    for deviation in noise:
        check_at_least("input_noise", deviation, 0)


def draw_input_noise(
    count: int, image_shape: tuple[int, int, int], stream: Stream
) -> dict[str, Tensor]:
    """Standard normal numbers: `fine`, one per pixel and channel, and `coarse`, one per cell.

    Args:
        count: Number of images.
        image_shape: Channels, height and width.
        stream: Source of the numbers.
    """
    _, height, width = image_shape
    cells = (1, math.ceil(height / _CELL), math.ceil(width / _CELL))
    return {
        name: stream.normal(name, count, *shape)
        for name, shape in (("fine", image_shape), ("coarse", cells))
    }


def add_input_noise(
    image: Float[Tensor, "batch channel height width"],
    fine: Float[Tensor, "batch channel height width"],
    coarse: Float[Tensor, "batch 1 rows columns"],
    noise: InputNoise,
) -> Float[Tensor, "batch channel height width"]:
    """Adds fine noise to each pixel and channel, and coarse noise that all channels share.

    The coarse grid, one cell per 16×16 pixels, is upsampled bilinearly. The sum is not clipped.

    Dittadi et al. (2021), https://arxiv.org/abs/2010.14407, who do not say whether they clip.

    Args:
        image: Pixels in [0, 1].
        fine: Standard normal numbers, one per pixel and channel.
        coarse: Standard normal numbers, one per cell.
        noise: Standard deviations of the fine and the coarse noise.
    """
    size = [*image.shape[-2:]]
    smooth = F.interpolate(coarse, size=size, mode="bilinear", align_corners=False)
    return image + noise[0] * fine + noise[1] * smooth
