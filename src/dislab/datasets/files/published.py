"""Published files: search, download, and messages for missing or damaged ones."""

import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from dislab.errors import InputError, one_line
from dislab.functional.checks import check_choice
from dislab.storage import cache_file, cache_folder, download

Source = Literal["rendered", "official", "auto"]
"""Source of the images of a data set that can also be rendered."""


class Published(NamedTuple):
    """A file or a tree of files published by third parties.

    Attributes:
        names: Its file name; several names are alternative forms of the same content, such as an
            archive and the folder unpacked from it. The first one is downloaded.
        page: Web page that publishes it.
        url: Download address of the first form; None if it must be downloaded manually.
        size: Its length in bytes, if known.
        checksum: Its SHA-256 or MD5 in hexadecimal, if known.
        kind: Accepted form of a user's path. `file`: the file, or a folder that contains it;
            `tree`: also the unpacked folder itself; `part`: only the folder that contains it and
            other files.
    """

    names: tuple[str, ...]
    page: str
    url: str | None = None
    size: int | None = None
    checksum: str | None = None
    kind: Literal["file", "tree", "part"] = "file"

    @property
    def called(self) -> str:
        """The names, for messages."""
        return " or ".join(self.names)


def check_source(source: Source, path: str | None, download: bool) -> None:
    """Rejects settings of a published file that would have no effect.

    Raises:
        InputError: The source is unknown, or `path` or `download` is given for rendered images.
    """
    check_choice("source", source, get_args(Source))
    if source == "rendered" and path is not None:
        raise InputError(
            f"path {path!r} is not read with source rendered; set source to official or auto"
        )
    if source != "official" and download:
        raise InputError(f"download needs source official, not {source}")


def find(published: Published, path: str | None, fetch: bool) -> Path:
    """Path of a published file, which is downloaded into the cache folder on request.

    Without a user's path, the cache folder is searched; `fetch` allows the download.

    Raises:
        InputError: The file is missing, or cannot be downloaded.
    """
    if path is not None:
        return _at_user_path(published, Path(path).expanduser())
    folder = cache_folder()
    for name in published.names:
        if (cached := cache_file(name)).exists():
            return cached
    if fetch and published.url is not None:
        download(published.url, folder / published.names[0], published.size, published.checksum)
        return folder / published.names[0]
    by_option = ", or set download to true (`--data.dataset.download true`)"
    offer = by_option if published.url is not None else ""
    refused = "; it cannot be downloaded from here" if fetch and published.url is None else ""
    raise InputError(
        f"{published.called} is not in {folder}{refused}; put it there (it is published at "
        f"{published.page}) or give its path{offer}"
    )


@contextmanager
def reading(path: Path, page: str) -> Iterator[None]:
    """Converts errors that a damaged file causes in its reader into one message.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        yield
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError) as error:
        # tarfile lists its attempts on separate lines
        raise InputError(
            f"{path} cannot be read: {one_line(error)}; it may be cut or altered; fetch it again "
            f"from {page}"
        ) from error


def open_packed(path: Path) -> BufferedReader | gzip.GzipFile:
    """Opens a file, which is decompressed while reading if its name ends in `.gz`."""
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def refusal(path: Path, what: str, page: str) -> InputError:
    """The error for a file that can be read, but is not the published one."""
    return InputError(f"{path} is not the published file: {what}; fetch it again from {page}")


def _at_user_path(published: Published, path: Path) -> Path:
    if path.is_file() and published.kind != "part":
        return path
    candidates = (path / name for name in published.names)
    if inside := next((inner for inner in candidates if inner.exists()), None):
        return inside
    if path.is_dir() and published.kind == "tree":
        return path
    remedy = "the folder of" if published.kind == "part" else "the path of"
    raise InputError(
        f"{path} is no {published.called}; give {remedy} the published file (from "
        f"{published.page}), or leave path out to look in {cache_folder()}"
    )
