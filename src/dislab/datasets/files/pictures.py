"""Pictures in folders or archives, read without unpacking and decoded to one size."""

import io
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from PIL import Image

from dislab.datasets.bank.bank import Rows
from dislab.datasets.files.npz import Refusal
from dislab.errors import InputError, one_line


class Tree(NamedTuple):
    """Files by name relative to the root, in the order in which they can be read fastest.

    Attributes:
        path: The folder or archive.
        names: Names of the files, with folders separated by slashes.
        read: Returns the bytes of a file by its name; not thread-safe.
    """

    path: Path
    names: tuple[str, ...]
    read: Callable[[str], bytes]


@contextmanager
def open_tree(path: Path) -> Iterator[Tree]:
    """Opens a folder, a zip archive, or a tar archive, compressed or not.

    Nothing is unpacked to disk, so names in an archive cannot write outside a folder.

    Raises:
        OSError: The path cannot be read.
        zipfile.BadZipFile: The zip archive is invalid.
        tarfile.TarError: The tar archive is invalid, or the file is no archive.
    """
    if path.is_dir():
        yield Tree(path, tuple(files_of(path)), lambda name: (path / name).read_bytes())
    elif path.suffix == ".zip" or zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            files = (member.filename for member in archive.infolist() if not member.is_dir())
            yield Tree(path, tuple(files), archive.read)
    else:
        with tarfile.open(path) as packed:
            places = dict(_members(packed))

            def read(name: str) -> bytes:
                start, size = places[name]
                stream = cast("IO[bytes]", packed.fileobj)
                stream.seek(start)
                content = stream.read(size)
                if len(content) != size:
                    raise tarfile.ReadError(f"it ends within {name}")
                return content

            yield Tree(path, tuple(places), read)


def files_of(folder: Path, hidden: bool = True) -> Iterator[str]:
    """Names of the files of a folder and its subfolders, also linked ones, each folder once.

    Links to folders are read last, so that a file has its real name if it has one in the folder. A
    link to a folder that contains it is no subfolder. `hidden` includes names that start with `.`.

    Raises:
        OSError: A folder cannot be read.
    """
    real, linked, read = [""], list[str](), set[str]()
    while real or linked:
        name = real.pop() if real else linked.pop(0)
        path = os.path.realpath(folder / name)
        above = os.path.realpath((folder / name).parent)
        if path in read or (name and os.path.commonpath([path, above]) == path):
            continue
        read.add(path)
        with os.scandir(path) as entries:
            children = sorted(
                (entry.name, entry.is_symlink(), _is_folder(entry)) for entry in entries
            )
        folders = list[str]()
        for child, link, is_folder in children:
            if hidden or not child.startswith("."):
                below = f"{name}/{child}" if name else child
                if is_folder:
                    (linked if link else folders).append(below)
                else:
                    yield below
        real += reversed(folders)  # the first one is next


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _members(packed: tarfile.TarFile) -> Iterator[tuple[str, tuple[int, int]]]:
    """Name, first byte and length of each file."""
    while member := packed.next():
        if member.isreg():
            yield member.name, (member.offset_data, member.size)
        # tarfile would keep a kilobyte per member, and an archive may have a million
        packed.members = []  # type: ignore[attr-defined]  # not in the stubs


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
                f"{name} in {tree.path} cannot be decoded: {one_line(error)}; it may be cut or "
                "altered"
            ) from error
        if size != frame.size:
            raise InputError(
                f"{name} in {tree.path} has {size[0]}×{size[1]} pixels instead of "
                f"{frame.size[0]}×{frame.size[1]}"
            )
        return shrink(np.asarray(picture), frame.side).reshape(-1)

    return decode
