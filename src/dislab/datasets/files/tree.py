"""Trees of files: a folder or an archive, which is read without unpacking."""

import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast


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
