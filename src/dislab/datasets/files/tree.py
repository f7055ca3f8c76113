"""Trees of files: a folder, or the archive that it is unpacked from, read without unpacking."""

import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast


class Tree(NamedTuple):
    """Files by their names below the top, in the order in which they are read fastest.

    Attributes:
        path: The folder or archive.
        names: Names of the files, folders parted by slashes.
        read: The bytes of a file by its name; one call at a time.
    """

    path: Path
    names: tuple[str, ...]
    read: Callable[[str], bytes]


@contextmanager
def open_tree(path: Path) -> Iterator[Tree]:
    """Opens a folder, a zip archive, or a tar archive, compressed or not.

    Nothing is unpacked to disk, so names in an archive cannot lead anywhere.

    Raises:
        OSError: It cannot be read.
        zipfile.BadZipFile: It is a broken zip archive.
        tarfile.TarError: It is a broken tar archive, or no archive.
    """
    if path.is_dir():
        yield Tree(path, tuple(_below(path)), lambda name: (path / name).read_bytes())
    elif path.suffix == ".zip" or zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            files = (one.filename for one in archive.infolist() if not one.is_dir())
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


def _members(packed: tarfile.TarFile) -> Iterator[tuple[str, tuple[int, int]]]:
    """Name, first byte and length of each file."""
    while member := packed.next():
        if member.isreg():
            yield member.name, (member.offset_data, member.size)
        # a kept member takes a kilobyte, and an archive may have a million
        packed.members = []  # type: ignore[attr-defined]  # not in the stubs


def _below(folder: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            yield Path(parent, name).relative_to(folder).as_posix()
