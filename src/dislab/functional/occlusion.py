"""Images with a part hidden."""

import torch
from jaxtyping import Float
from torch import Tensor


def occlude(
    image: Float[Tensor, "batch channel height width"], corners: Float[Tensor, "batch 4"]
) -> Float[Tensor, "batch channel height width"]:
    """Images in which the pixels inside a rectangle are 0.

    A pixel is inside when its centre is.

    Args:
        image: Pixels.
        corners: Two horizontal and two vertical positions of a rectangle's sides, in either order,
            as fractions of width and height.
    """
    height, width = image.shape[-2:]
    across = _between(corners[:, :2], width)
    down = _between(corners[:, 2:], height)
    hidden = down[:, None, :, None] & across[:, None, None, :]
    return image.masked_fill(hidden, 0.0)


def _between(sides: Float[Tensor, "batch 2"], size: int) -> Tensor:
    centres = (torch.arange(size, device=sides.device) + 0.5) / size
    return (sides.amin(1)[:, None] < centres) & (centres < sides.amax(1)[:, None])
