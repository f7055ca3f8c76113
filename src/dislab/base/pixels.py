"""Checks of pixels that users bring: their type, their range, and images that show nothing."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from dislab.errors import InputError, warn

_MARGIN: Final = 0.01
"""Tolerance for fractions outside [0, 1], such as after rounding in a resize."""
_DARK: Final = 16
"""Sets whose brightest pixel is below this value are almost black: pixels of 4 bits, or classes."""
_WHITES: Final = (255, 1023, 4095, 16383, 65535)
"""Largest values of 8, 10, 12, 14 and 16 bits."""
_SOME: Final = 8
"""Number of images that are hardly all almost black."""
_AT_A_TIME: Final = 256


class PixelWarning(UserWarning):
    """A set of images can be used, but is almost black, or all its images are equal."""


def shape_advice(taken: Sequence[int], given: Sequence[int]) -> str:
    """What to do if a model was made for images of another shape.

    Args:
        taken: Channels, height and width that the model takes.
        given: Those of the images.
    """
    channels, *sides = taken
    if tuple(given) == (*sides, channels):
        return (
            "put the channels first: images.transpose(0, 3, 1, 2) in NumPy, "
            "images.permute(0, 3, 1, 2) in torch"
        )
    by_resize = tuple(taken)[:1] == tuple(given)[:1] and taken[1] == taken[2] > 1
    resized = f" (resize={taken[1]} of a data module)" if by_resize else ""
    return f"give images of {by(taken)}{resized}, or make the model with image_shape={tuple(given)}"


def by(shape: Sequence[int]) -> str:
    """A shape in a message, such as 3×64×64."""
    return "×".join(map(str, shape))


def pixel_fault(
    dtype: np.dtype[Any] | torch.dtype,
    low: float,
    high: float,
    count: int = _SOME,
    vector: bool = False,
) -> str:
    """Describes why pixels cannot be used, and a remedy; empty if they can be used.

    Args:
        dtype: Their type.
        low: Their smallest value.
        high: Their largest value.
        count: Number of images; a few may be almost black, but not all of a batch.
        vector: Whether they are entries of vectors, which are finite floats of any range.
    """
    kind = _kind(dtype)
    if vector and kind == "f":
        finite = math.isfinite(low) and math.isfinite(high)
        return "" if finite else "are NaN or infinite in places: fill or leave out such rows"
    if kind not in "biuf":
        return f"are {dtype}; give pixels from 0 to 255 as uint8, or fractions in [0, 1] as floats"
    if not (math.isfinite(low) and math.isfinite(high)):
        return "hold NaN or infinity; leave out such images"
    is_byte = str(dtype).endswith("uint8")
    fits = kind == "b" or is_byte or (kind == "f" and low >= -_MARGIN and high <= 1 + _MARGIN)
    white = 1 if is_byte else 1 / 255
    dark = kind != "b" and low == 0 and math.isclose(high, white, rel_tol=1e-3) and count >= _SOME
    if fits and not dark:
        return ""
    return f"are {dtype} from {low:g} to {high:g}: {_remedy(dtype, low, high, count)}"


def check_pixels(
    images: str, blocks: Iterable[npt.NDArray[Any] | Tensor], vector: bool = False
) -> None:
    """Refuses pixels that are neither bytes, nor booleans, nor fractions in [0, 1].

    Args:
        images: Noun for the images, such as `images of FILE`.
        blocks: The images in parts of one type, with one row per image.
        vector: Whether they are vectors, which are finite floats of any range.

    Raises:
        InputError: The type or range is another one, or pixels are masked.
    """
    ends: list[tuple[float, float]] = []
    count = 0
    for block in blocks:
        if np.ma.is_masked(block):
            raise InputError(f"{images} have masked pixels; fill them, such as by images.filled(0)")
        if 0 not in block.shape:
            ends.append(_ends(block))
            dtype, count = block.dtype, count + len(block)
    if not ends:
        return
    low, high = float(np.min(ends)), float(np.max(ends))  # NaN if one is
    if fault := pixel_fault(dtype, low, high, count, vector):
        raise InputError(f"{images} {fault}")


def check_contents(images: str, blocks: Iterable[npt.NDArray[np.uint8]]) -> None:
    """Refuses sets of pixels 0 and 1, and warns of other sets that show nothing.

    Reads only as many blocks as it takes to find a bright pixel and two different images.

    Args:
        images: Noun for the images, such as `images of FILE`.
        blocks: The images in parts, one image a row.

    Raises:
        InputError: The largest pixel is 1 of 255.
    """
    first: npt.NDArray[np.uint8] | None = None
    high, count, equal = 0, 0, True
    for block in blocks:
        first = block[:1] if first is None else first
        high, count = max(high, int(block.max(initial=0))), count + len(block)
        equal = equal and bool((block == first).all())
        if high >= _DARK and not equal:
            return
    if high == 1:
        raise InputError(f"{images} {pixel_fault(np.dtype(np.uint8), 0.0, 1.0)}")
    if equal and count > 1:
        message = f"all {count:,} {images} are equal: nothing can be learned from them"
    elif high < _DARK and not equal:
        message = (
            f"{images} are almost black, with pixels from 0 to {high} of 255: if {high} is white, "
            f"multiply them by 255 / {high}"
        )
    else:
        return
    warn(message, PixelWarning)


def blocks_of(images: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """Parts of an array of images.

    Args:
        images: The images, one a row.
    """
    for start in range(0, len(images), _AT_A_TIME):
        yield images[start : start + _AT_A_TIME]


def _kind(dtype: np.dtype[Any] | torch.dtype) -> str:
    """NumPy's letter for a type: b, i, u, f, or another one for types that are no pixels."""
    if not isinstance(dtype, torch.dtype):
        return dtype.kind
    if dtype == torch.bool:
        return "b"
    return "f" if dtype.is_floating_point else "c" if dtype.is_complex else "i"


def _ends(pixels: npt.NDArray[Any] | Tensor) -> tuple[float, float]:
    """The smallest and the largest pixel; NaN for types that are no real numbers."""
    if _kind(pixels.dtype) not in "biuf":
        return (math.nan, math.nan)
    if isinstance(pixels, Tensor):
        low, high = torch.stack(torch.aminmax(pixels.detach().float())).tolist()
        return (low, high)
    return (float(pixels.min()), float(pixels.max()))


def _remedy(dtype: np.dtype[Any] | torch.dtype, low: float, high: float, count: int) -> str:
    is_float = _kind(dtype) == "f"
    if low < 0:
        if is_float and low >= -1 - _MARGIN and high <= 1 + _MARGIN:
            return "map [-1, 1] to [0, 1] by (images + 1) / 2"
        return (
            "map them to [0, 1] by (images - low) / (high - low), where low and high are the "
            "smallest and the largest possible value"
        )
    if is_float and high <= 1:
        return "multiply them by 255, or they would be almost black"
    if is_float or high > 255 or count == 1:  # other images may have larger pixels
        white = next((value for value in _WHITES if high <= value), high)
        return f"divide them by the largest possible value, such as {white:g}, for floats in [0, 1]"
    if high == 1:
        return "make them booleans, or multiply them by 255, or they would be almost black"
    convert = "byte()" if isinstance(dtype, torch.dtype) else "astype('uint8')"
    return f"give pixels from 0 to 255 as uint8, such as by images.{convert}"
