"""Conversion of stored bytes to network inputs, on the device of the bytes."""

from typing import Final, Literal, get_args

import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.nn import functional as F

from dislab.base.parts import ImageShape
from dislab.errors import InputError
from dislab.functional.checks import check_choice, check_count

Colour = Literal["keep", "grey", "rgb"]

_LUMA: Final = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in the luminance of ITU-R BT.601."""


def transformed_shape(shape: ImageShape, resize: int | None, colour: Colour) -> ImageShape:
    """Channels, height and width after `transform`; impossible settings are refused."""
    check_choice("colour", colour, get_args(Colour))
    channels, height, width = shape
    if resize is not None:
        check_count("resize", resize, 1, most=4096)
    if colour != "keep" and channels not in (1, 3):
        raise InputError(
            f"colour {colour} needs images of 1 or 3 channels, and these have {channels}; set "
            "colour to keep"
        )
    if colour != "keep":
        channels = 1 if colour == "grey" else 3
    return (channels, resize or height, resize or width)


def fractions(
    image: UInt8[Tensor, "batch channel height width"],
) -> Float[Tensor, "batch channel height width"]:
    """Images in [0, 1] from pixels of 0 to 255."""
    return image.float().div_(255)


def transform(
    scaled: Float[Tensor, "batch channel height width"], resize: int | None, colour: Colour
) -> Float[Tensor, "batch channels rows columns"]:
    """Images in [0, 1], resized by antialiased bilinear interpolation if their size differs.

    The colour `grey` takes the luminance (ITU-R BT.601), `rgb` repeats a single channel.
    """
    channels = scaled.shape[1]
    if colour == "grey" and channels == 3:
        # not from a tuple, whose copy to an accelerator would block the host
        weights = torch.stack([scaled.new_full((), weight) for weight in _LUMA])
        scaled = torch.einsum("bchw,c->bhw", scaled, weights).unsqueeze(1)
    if resize is not None and scaled.shape[-2:] != (resize, resize):
        scaled = F.interpolate(scaled, size=(resize, resize), mode="bilinear", antialias=True)
        scaled = scaled.clamp_(0, 1)
    if colour == "rgb" and channels == 1:
        scaled = scaled.expand(-1, 3, -1, -1).contiguous()
    return scaled
