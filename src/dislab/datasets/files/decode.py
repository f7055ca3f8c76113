"""Decodes picture files and arrays into pixels of one size."""

import io
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from dislab.datasets.bank.bank import Rows
from dislab.datasets.files.npz import Refusal
from dislab.datasets.files.tree import Tree
from dislab.errors import InputError

_IMAGES_AT_A_TIME: Final = 256


class Frame(NamedTuple):
    """Required format of pictures, and the format to convert them to.

    Attributes:
        size: Required width and height of every picture.
        side: Height and width to resize to.
        mode: Pillow's name of the colour mode, RGB or grey.
        box: Left, upper, right and lower edge of the crop; None keeps everything.
    """

    size: tuple[int, int]
    side: int
    mode: Literal["RGB", "L"] = "RGB"
    box: tuple[int, int, int, int] | None = None


def shrink(pixels: npt.NDArray[np.uint8], side: int) -> npt.NDArray[np.uint8]:
    """Resizes one picture and moves its channels first.

    Uses Pillow's bilinear filter, whose support grows when it shrinks an image: a triangle over
    twice the area that a pixel of the result covers. A picture of the right size is unchanged. The
    picture has shape (height, width) or (height, width, channel).
    """
    if pixels.shape[:2] != (side, side):
        resized = Image.fromarray(pixels).resize((side, side), Image.Resampling.BILINEAR)
        pixels = np.asarray(resized)
    return np.ascontiguousarray(np.moveaxis(np.atleast_3d(pixels), -1, 0))


def check_side(side: int, most: int) -> None:
    """Rejects a side that is not between 8 pixels and `most`, the side of the published images."""
    if not 8 <= side <= most:
        raise InputError(
            f"side {side} is not possible; images are shrunk from {most} pixels a side and never "
            f"enlarged; choose 8 to {most}"
        )


def pictures(tree: Tree, names: Sequence[str], frame: Frame) -> Iterator[Rows]:
    """Pictures of a tree in the order of `names`, as chunks of rows of bytes.

    Raises:
        InputError: A picture cannot be decoded, or has another size.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for start in range(0, len(names), _IMAGES_AT_A_TIME):
            some = names[start : start + _IMAGES_AT_A_TIME]
            # archives are read by one thread; decoding releases the interpreter lock
            contents = [tree.read(name) for name in some]
            yield np.stack(list(pool.map(_decoder(tree, frame), contents, some)))


def numbered_pictures(tree: Tree, count: int, frame: Frame, refuse: Refusal) -> Iterator[Rows]:
    """Pictures of a tree named by their numbers from 0, such as `000017.png`.

    Folders and other files of the tree are ignored.

    Raises:
        InputError: There are too few or too many pictures (error made by `refuse`), or one cannot
            be decoded or has another size.
    """
    by_number: dict[int, str] = {}
    for name in tree.names:
        stem, _, suffix = name.rpartition("/")[2].partition(".")
        if suffix == "png" and stem.isdecimal():
            by_number[int(stem)] = name
    missing = next((index for index in range(count) if index not in by_number), None)
    if missing is not None or len(by_number) != count:
        what = f"it holds {len(by_number)} images instead of {count}"
        first = "" if missing is None else f"; image {missing} is the first that is missing"
        raise refuse(what + first)
    yield from pictures(tree, [by_number[index] for index in range(count)], frame)


def _decoder(tree: Tree, frame: Frame) -> Callable[[bytes, str], npt.NDArray[Any]]:
    def decode(content: bytes, name: str) -> npt.NDArray[Any]:
        try:
            with Image.open(io.BytesIO(content)) as opened:
                size = opened.size
                picture = opened.convert(frame.mode).crop(frame.box)
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise InputError(
                f"{name} in {tree.path} cannot be decoded: {error}; it may be cut or altered"
            ) from error
        if size != frame.size:
            raise InputError(
                f"{name} in {tree.path} has {size[0]}×{size[1]} pixels instead of "
                f"{frame.size[0]}×{frame.size[1]}"
            )
        return shrink(np.asarray(picture), frame.side).reshape(-1)

    return decode
