"""Published files: search, download, and messages for missing or broken ones."""

import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from dislab.errors import InputError, one_line
from dislab.functional.checks import check_choice
from dislab.storage import cache_folder, download

Source = Literal["rendered", "official", "auto"]
"""Where the images of a set that is also drawn here come from."""


class Published(NamedTuple):
    """A file or a tree of files that somebody else publishes.

    Attributes:
        names: Its file name; several names are forms of the same content, such as an archive
            and the folder unpacked from it. The first one is downloaded.
        page: The address where people find it.
        url: The address of the first form itself; None where only people can fetch it.
        size: Its length in bytes, where it is known.
        checksum: Its SHA-256 or MD5 in hexadecimal, where one is known.
        kind: Accepted form of a user's path. `file`: the file, or a folder that holds it; `tree`:
            also the unpacked folder itself; `part`: only the folder that holds it beside others.
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
    """Refuses settings of a published file that would change nothing.

    Raises:
        InputError: The source is unknown, or `path` or `download` is given for images that are
            drawn.
    """
    check_choice("source", source, get_args(Source))
    if source == "rendered" and path is not None:
        raise InputError(
            f"path {path!r} is not read with source rendered; set source to official or auto"
        )
    if source != "official" and download:
        raise InputError(f"download needs source official, not {source}")


def find(published: Published, path: str | None, fetch: bool) -> Path:
    """Path of a published file, fetched into the cache folder if the user wants that.

    Without a path of the user's the cache folder is searched; `fetch` allows the download.

    Raises:
        InputError: It is missing, or cannot be fetched.
    """
    if path is not None:
        return _given(published, Path(path).expanduser())
    folder = cache_folder()
    if found := _inside(published, folder):
        return found
    if fetch and published.url is not None:
        download(published.url, folder / published.names[0], published.size, published.checksum)
        return folder / published.names[0]
    offer = ", or set download to true" if published.url is not None else ""
    refused = "; it cannot be downloaded from here" if fetch and published.url is None else ""
    raise InputError(
        f"{published.called} is not in {folder}{refused}; put it there (it is published at "
        f"{published.page}) or give its path{offer}"
    )


@contextmanager
def reading(path: Path, page: str) -> Iterator[None]:
    """Turns the errors that a broken file causes in its reader into one message.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        yield
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError) as error:
        # tarfile lists its attempts, one line each
        raise InputError(
            f"{path} cannot be read: {one_line(error)}; it may be cut or altered; fetch it again "
            f"from {page}"
        ) from error


def refusal(path: Path, what: str, page: str) -> InputError:
    """The error for a file that can be read, but is not the published one."""
    return InputError(f"{path} is not the published file: {what}; fetch it again from {page}")


def _given(published: Published, given: Path) -> Path:
    if given.is_file() and published.kind != "part":
        return given
    if found := _inside(published, given):
        return found
    if given.is_dir() and published.kind == "tree":
        return given
    wanted = "the folder of" if published.kind == "part" else "the path of"
    raise InputError(
        f"{given} is no {published.called}; give {wanted} the published file (from "
        f"{published.page}), or leave path out to look in {cache_folder()}"
    )


def _inside(published: Published, folder: Path) -> Path | None:
    candidates = (folder / name for name in published.names)
    return next((one for one in candidates if one.exists()), None)
