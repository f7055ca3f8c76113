import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from dislab.base.pixels import PixelWarning, blocks_of, check_contents, check_pixels, pixel_fault
from dislab.errors import InputError

RAMP = np.linspace(0, 1, 9 * 16).reshape(9, 1, 4, 4)


@pytest.mark.parametrize(
    ("pixels", "remedy"),
    [
        ((RAMP * 4095).astype(np.uint16), "from 0 to 4095: divide them by .* such as 4095"),
        ((RAMP * 60_000).astype(np.uint16), "from 0 to 60000: divide them by .* such as 65535"),
        ((RAMP * 70_000).astype(np.int32), "from 0 to 70000: divide them by .* such as 70000"),
        ((RAMP * 4095 - 1024).astype(np.int16), r"\(images - low\) / \(high - low\)"),
        ((RAMP * 255 - 128).astype(np.int8), r"\(images - low\) / \(high - low\)"),
        ((RAMP * 255).astype(np.int64), r"pixels from 0 to 255 as uint8, .* images\.astype"),
        ((RAMP > 0.5).astype(np.int64), "make them booleans, or multiply them by 255"),
        ((RAMP > 0.5).astype(np.uint8), "uint8 from 0 to 1: make them booleans, or multiply"),
        ((RAMP > 0.5) / np.float32(255), "multiply them by 255, or they would be almost black"),
        (RAMP * 255, "from 0 to 255: divide them by .* such as 255"),
        (RAMP * 2 - 1, r"from -1 to 1: map .* by \(images \+ 1\) / 2"),
        (RAMP * 6 - 3, r"from -3 to 3: .* \(images - low\) / \(high - low\)"),
        (RAMP + math.nan, "hold NaN or infinity; leave out such images"),
        (np.where(RAMP == 0, math.nan, RAMP), "hold NaN or infinity; leave out such images"),
        (np.where(RAMP == 0, math.inf, RAMP), "hold NaN or infinity; leave out such images"),
        (RAMP * 1j, "are .*complex128; give pixels from 0 to 255 as uint8, or fractions"),
    ],
)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_refuses_pixels_out_of_range_with_a_remedy_that_fits(
    pixels: np.ndarray, remedy: str, library: str
) -> None:
    given: Any = pixels if library == "numpy" else torch.from_numpy(pixels)
    if library == "torch":
        remedy = remedy.replace(r"images\.astype", r"images\.byte")
    with pytest.raises(InputError, match=f"^images .*{remedy}") as caught:
        check_pixels("images", [given])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "pixels",
    [
        RAMP,
        RAMP.astype(np.float16),
        RAMP.astype(">f4"),
        RAMP * 1.01 - 0.005,
        (RAMP * 255).astype(np.uint8),
        np.zeros((9, 1, 4, 4), np.uint8),
        RAMP > 0.5,
        (RAMP > 0.5).astype(np.uint8)[:7],  # a few images may be almost black
        RAMP[:0] + 7,
    ],
)
def test_accepts_bytes_fractions_and_booleans(pixels: np.ndarray) -> None:
    check_pixels("images", [pixels])
    assert pixel_fault(pixels.dtype, 0.0, 1.0, 1) == ""


def test_masked_pixels_are_refused() -> None:
    masked = np.ma.masked_less(RAMP, 0.5)
    with pytest.raises(InputError, match="images have masked pixels; fill them"):
        check_pixels("images", [masked])


def test_the_remedy_depends_on_all_parts() -> None:
    bright = (RAMP * 4095).astype(np.uint16)
    with pytest.raises(InputError, match="from 0 to 4095: divide"):
        check_pixels("images", [bright // 4095, bright, bright // 16])


def parts(images: np.ndarray, read: list[int]) -> Iterator[np.ndarray]:
    for number, block in enumerate(blocks_of(images)):
        read.append(number)
        yield block


IMAGES = np.random.default_rng(0).integers(256, size=(1000, 4), dtype=np.uint8)


def test_images_that_show_something_are_looked_at_in_part() -> None:
    read: list[int] = []
    check_contents("images", parts(IMAGES, read))
    assert read == [0]
    late = np.zeros_like(IMAGES)
    late[-1] = 255
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_contents("images", parts(late, read))
    assert read == [0, 0, 1, 2, 3]


def test_pixels_0_and_1_are_refused() -> None:
    with pytest.raises(InputError, match="masks are uint8 from 0 to 1: make them booleans, or mul"):
        check_contents("masks", blocks_of(IMAGES % 2))


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros_like(IMAGES), "all 1,000 pictures are equal"),
        (np.full_like(IMAGES, 200), "all 1,000 pictures are equal"),
        (IMAGES % 16, "pictures are almost black, with pixels from 0 to 15 of 255: if 15 is white"),
    ],
)
def test_images_that_show_hardly_anything_are_named(images: np.ndarray, message: str) -> None:
    with pytest.warns(PixelWarning, match=message):
        check_contents("pictures", blocks_of(images))


def test_one_image_is_not_equal_to_others() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_contents("images", [IMAGES[:1] * 0])
