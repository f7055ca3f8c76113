"""Finds image files of the user and reads them into rows, with errors that name the file."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, cast

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from dislab.base import ImageShape
from dislab.datasets.bank.bank import Rows
from dislab.datasets.files.pictures import files_of
from dislab.errors import InputError, one_line
from dislab.functional.checks import check_count

Colour = Literal["keep", "grey", "rgb"]

Fit = Literal["squash", "crop", "pad"]
"""Treatment of non-square images: distort, crop to the centre, or pad with black."""

SUFFIXES: Final = frozenset(
    (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
)
"""Suffixes of image files."""

UNREADABLE: Final = (OSError, ValueError, SyntaxError, Image.DecompressionBombError)
"""Errors of Pillow for a file that is no image, is truncated, or is implausibly large."""

UNEQUAL: Final = (
    "side, such as side: 64, to resize all of them (fit: crop or pad keeps proportions), and "
    "colour to grey or rgb to make them alike"
)
"""Advice in messages on settings for images that differ in size or channels."""

_KEPT: Final = {"1": "L", "L": "L", "RGB": "RGB"}
_CONVERTED: Final = frozenset(("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr", "HSV"))
_DEEP: Final = re.compile(r";16[BLN]$")
"""End of Pillow's names of stored pixels with 16 bits."""
_BITS_PER_SAMPLE: Final = 258
_AT_A_TIME: Final = 256


def files_below(folder: Path) -> tuple[list[str], list[str]]:
    """Image files and other files of a folder and its subfolders, sorted, without hidden ones.

    Links to folders are followed; a link to nothing is listed among the other files.

    Raises:
        InputError: A folder cannot be read.
    """
    images, others = list[str](), list[str]()
    try:
        for name in sorted(files_of(folder, hidden=False)):
            if (path := folder / name).is_file():
                (images if path.suffix.lower() in SUFFIXES else others).append(name)
            elif path.is_symlink():
                others.append(f"{name} (a link to nothing)")
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {one_line(error)}") from error
    return images, others


def equal_files(folder: Path, names: Sequence[str]) -> list[list[str]]:
    """Groups of files with equal bytes, each in the order of the names.

    Args:
        folder: Folder of the files.
        names: Their names, relative to it.
    """
    by_size, groups = defaultdict[int, list[str]](list), defaultdict[bytes, list[str]](list)
    for name in names:
        by_size[(folder / name).stat().st_size].append(name)
    for name in (name for similar in by_size.values() if len(similar) > 1 for name in similar):
        groups[hashlib.sha256((folder / name).read_bytes()).digest()].append(name)
    return [equal for equal in groups.values() if len(equal) > 1]


def check_fit(side: int | None, fit: Fit) -> None:
    """Rejects a side below 1, and a fit without a side.

    Raises:
        InputError: One of them is invalid.
    """
    if side is not None:
        check_count("side", side, 1, most=4096)
    elif fit != "squash":
        raise InputError(f"fit: {fit} needs a side, the height and width to come out, such as 64")


def fingerprint(folder: Path, names: Sequence[str]) -> str:
    """SHA-256 of the names, sizes and times of files.

    Raises:
        InputError: One of them is gone.
    """
    digest = hashlib.sha256()
    for name in names:
        try:
            status = (folder / name).stat()
        except OSError as error:
            raise InputError(f"{folder / name} is gone: {error}") from error
        digest.update(
            f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode(errors="surrogateescape")
        )
    return digest.hexdigest()


def read_image(
    path: Path, side: int | None, colour: Colour, fit: Fit = "squash"
) -> npt.NDArray[np.uint8]:
    """Pixels of one image, rotated as given in its EXIF data, shape (channel, height, width).

    Args:
        path: The file.
        side: Height and width to resize to, by area averaging; None keeps the size.
        colour: Whether to keep the colour mode, or convert to grey or RGB; an equal transparency
            of all pixels is dropped.
        fit: Treatment of a non-square image.

    Raises:
        InputError: The image cannot be read, or is one that `check_picture` refuses.
    """
    try:
        with Image.open(path) as image:
            return pixels_of(image, str(path), side, colour, fit, turn=True)
    except UnidentifiedImageError as error:
        raise InputError(
            f"{path} is no image that can be read; remove it from the set, or save it as PNG with "
            "8 bits a channel"
        ) from error
    except UNREADABLE as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path} cannot be read as an image: {one_line(error)}; it may be cut"
        ) from error


def pixels_of(
    image: Image.Image,
    name: str,
    side: int | None,
    colour: Colour,
    fit: Fit,
    turn: bool = False,
) -> npt.NDArray[np.uint8]:
    """Pixels of a Pillow image, shape (channel, height, width).

    Args:
        image: The image.
        name: Its name, for messages.
        side: As for `read_image`.
        colour: As for `read_image`.
        fit: As for `read_image`.
        turn: Whether to turn the image as its EXIF data say.

    Raises:
        InputError: The image is one that `check_picture` refuses, or its mode is not kept.
    """
    check_picture(image, name)
    if turn:
        ImageOps.exif_transpose(image, in_place=True)  # cameras may store turned images
    mode = _mode(name, image.mode, colour)
    converted = image if image.mode == mode else image.convert(mode)
    if side is not None and converted.size != (side, side):
        size, averaging = (side, side), Image.Resampling.BOX
        if fit == "crop":
            converted = ImageOps.fit(converted, size, averaging)
        elif fit == "pad":
            converted = ImageOps.pad(converted, size, averaging, color=0)
        else:
            converted = converted.resize(size, averaging)
    pixels = np.asarray(converted, dtype=np.uint8)
    return pixels[None] if pixels.ndim == 2 else np.moveaxis(pixels, -1, 0)


def check_picture(image: Image.Image, name: str) -> None:
    """Refuses a Pillow image of which Pillow would drop a part without a word.

    Args:
        image: The image; not loaded yet, or its bits per channel may be unknown.
        name: Its name, for messages.

    Raises:
        InputError: It has more than 8 bits a channel, several pages or frames, a mode that is not
            converted, or pixels of different transparency.
    """
    if _is_deep(image):
        raise InputError(
            f"{name} has more than 8 bits a channel (mode {image.mode}); divide its pixels by the "
            "largest possible value, such as 65535 for 16 bits, multiply them by 255, and save "
            "them with 8 bits"
        )
    pages = getattr(image, "n_frames", 1)
    if pages > 1 and image.format != "MPO":  # photographs with a preview or a map of brightness
        raise InputError(
            f"{name} has {pages} pages or frames, and one is read of each file; save each as a "
            "file of its own"
        )
    if image.mode not in _CONVERTED:
        raise InputError(f"{name} has the mode {image.mode}, which is not read; save it as RGB")
    if image.has_transparency_data:
        low, high = cast("tuple[int, int]", image.convert("RGBA").getchannel("A").getextrema())
        if low != high or high == 0:
            raise InputError(
                f"{name} is transparent in places, and transparency is not read; draw it on a "
                "background of one colour, such as by Image.alpha_composite(Image.new('RGBA', "
                "image.size, 'white'), image.convert('RGBA')).convert('RGB')"
            )


def _is_deep(image: Image.Image) -> bool:
    """Whether an image has more than 8 bits a channel, of which Pillow keeps 8 in most modes."""
    if image.mode == "F" or image.mode.startswith("I"):
        return True
    for tile in getattr(image, "tile", ()):
        arguments = tile[3] if isinstance(tile[3], tuple) else (tile[3],)
        if _DEEP.search(str(arguments[0])):
            return True
        if tile[0] == "ppm" and arguments[-1] > 255:
            return True
    tags: Mapping[int, tuple[int, ...]] = getattr(image, "tag_v2", {})  # of a TIFF file
    return max(tags.get(_BITS_PER_SAMPLE, (8,))) > 8


def read_rows(
    folder: Path,
    names: Sequence[str],
    shape: ImageShape,
    side: int | None,
    colour: Colour,
    fit: Fit = "squash",
) -> Iterator[Rows]:
    """Reads images as chunks of rows.

    Args:
        folder: Folder of the images.
        names: Their names, relative to the folder.
        shape: Required channels, height and width.
        side: As for `read_image`.
        colour: As for `read_image`.
        fit: As for `read_image`.

    Raises:
        InputError: An image cannot be read or differs from the first one.
    """
    for start in range(0, len(names), _AT_A_TIME):
        block = []
        for name in names[start : start + _AT_A_TIME]:
            pixels = read_image(folder / name, side, colour, fit)
            if pixels.shape != shape:
                raise InputError(
                    f"{folder / name} has {size_of(pixels.shape)}, but {names[0]} has "
                    f"{size_of(shape)}; set {UNEQUAL}"
                )
            block.append(pixels.reshape(-1))
        yield np.stack(block)


def _mode(path: str, mode: str, colour: Colour) -> str:
    if colour == "keep":
        if mode not in _KEPT:
            raise InputError(
                f"{path} has the mode {mode}; grey and RGB images of 8 bits are kept as they are, "
                "set colour to grey or rgb for others"
            )
        return _KEPT[mode]
    return "L" if colour == "grey" else "RGB"


def size_of(shape: tuple[int, ...]) -> str:
    """The size of an image in words."""
    channels, height, width = shape
    return f"{width}×{height} pixels and {channels} channel{'s' if channels > 1 else ''}"
