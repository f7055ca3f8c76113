"""Atomic writes of files and folders, the rule of outputs, JSON text and text tables."""

import errno
import functools
import glob
import hashlib
import json
import math
import os
import platform
import re
import shutil
import stat
import textwrap
import time
import uuid
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from dislab.errors import InputError, one_line
from dislab.storage.cache import ELSEWHERE, cache_path

_ABANDONED: Final = 24 * 3600.0
"""Seconds since the last write after which a temporary file counts as abandoned."""
WIDTH: Final = 100
"""Letters in a line of a terminal."""
_LEAST_WIDTH: Final = 24
"""Letters that a column needs to be broken into several lines."""
_MARKUP: Final = {
    "\\": "\\\\",
    "|": "\\|",
    "<": "&lt;",
    "](": "]\\(",
    "][": "]\\[",
    "]:": "]\\:",
    "://": ":\\//",
    "www.": "www\\.",
}
"""Beginnings of HTML, links, images and table cells in Markdown, and their escaped forms."""
_WRITER: Final = re.compile(r"(?:(?P<host>[0-9a-f]{8})-(?P<process>\d{1,9})-)?[0-9a-f]{8}")
"""The part of a temporary file's name that identifies its machine and process."""


_NO_LINK: Final = sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
)
"""Flags that open no link, wait for no other end of a pipe, and keep bytes as they are."""


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside a file, and replaces the file by it at the end of the block.

    No reader ever sees an incomplete file: when the block raises, the temporary file is removed and
    the old file, if any, stays. The content is on the disk before the replacement, so that not even
    a power failure leaves an incomplete file. The next write of the same file removes temporary
    files of killed processes, but not those of running processes, or those of another machine from
    the last day.

    Args:
        path: The file to make or replace; its folder is created.

    Raises:
        InputError: The file cannot be written, for example without space or permission.
    """
    temporary = _temporary(path)
    try:
        with folders_above(path):
            try:
                _remove_dead(path)
                created(temporary).close()
                yield temporary
                _sync(temporary, _NO_LINK)
                os.replace(temporary, path)
            finally:
                # unlink fails if the folder is a file: nothing was written there
                with suppress(OSError):
                    temporary.unlink()
        _sync(path.parent)
    except OSError as error:
        advice = "free some space, or choose a folder that you may write to"
        if path.is_relative_to(cache_path()):
            advice += f" ({ELSEWHERE})"
        raise InputError(f"{path} cannot be written: {error}; {advice}") from error


@contextmanager
def folders_above(path: Path) -> Iterator[None]:
    """Creates the missing folders above a path; if the block fails, removes those left empty."""
    missing = [folder for folder in path.parents if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in missing:
            with suppress(OSError):  # it was not made, or another process put something there
                folder.rmdir()
        raise


@contextmanager
def new_folder(
    option: str, out: Path, is_own: Callable[[Path], bool] | None = None
) -> Iterator[Path]:
    """A temporary folder, whose files reach `out` together at the end of the block, or never.

    Args:
        option: The option that names the folder, for messages.
        out: The folder; unless `is_own` is given, it must not exist, or must be empty.
        is_own: Whether a file that is in the folder already may be replaced, see `check_output`;
            other files in it stay.

    Raises:
        InputError: The folder is not empty, a file of the user would be replaced, or the folder
            cannot be written.
    """
    if "\0" in str(out):
        raise InputError(f"{option} is {str(out)!r}, which cannot name a folder")
    try:
        if out.exists() and not out.is_dir():
            raise InputError(f"{option} is {out}, which is a file; name a folder")
        is_used = out.exists() and any(out.iterdir())
        if is_used and is_own is None:
            raise InputError(f"{option} is {out}, which exists and is not empty; name a new folder")
        real = out.resolve()
        beside = real / "new" if is_used else real
        temporary = beside.with_name(f".{beside.name}.{uuid.uuid4().hex[:8]}.tmp")
        with folders_above(temporary):
            try:
                temporary.mkdir()
                yield temporary
                if is_used:
                    _move_files(option, temporary, out, is_own)
                else:
                    os.replace(temporary, real)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        # numpy and others report a full disk without an error number
        reason = error.strerror or one_line(error)
        raise InputError(
            f"{option}: {out} cannot be written: {reason}; choose a folder that you may write to"
        ) from error


def _move_files(
    option: str, source: Path, folder: Path, is_own: Callable[[Path], bool] | None
) -> None:
    """Moves all files into a folder unless one of them may not be replaced there."""
    names = sorted(path.name for path in source.iterdir())
    for name in names:
        _check_replaced(option, folder / name, is_own)
    for name in names:
        os.replace(source / name, folder / name)


def created(path: Path) -> BinaryIO:
    """Creates an empty file to write, in place of any other; never writes through a link.

    Args:
        path: The file; others may write to its folder.

    Raises:
        OSError: The file cannot be created.
    """
    path.unlink(missing_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK
    return os.fdopen(os.open(path, flags, 0o666), "r+b")


def reopened(path: Path) -> BinaryIO | None:
    """Opens a file that an interrupted process has left, to read it and to continue it.

    None if there is no such file, or if its content is also that of another name: a link, which
    somebody else may have put there.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | _NO_LINK)
    except OSError:
        return None
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
        return os.fdopen(descriptor, "r+b")
    os.close(descriptor)
    return None


def _sync(path: Path, flags: int = 0) -> None:
    """Waits until a file or the names in a folder are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | flags)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # the file system cannot sync folders
            raise
    finally:
        os.close(descriptor)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{_host()}-{os.getpid()}-{uuid.uuid4().hex[:8]}.tmp")


def _remove_dead(path: Path) -> None:
    """Removes temporary files of killed processes while another process may be writing the file."""
    for leftover, process in _leftovers(path):
        with suppress(OSError):  # another process may remove it meanwhile
            old = time.time() - leftover.stat().st_mtime > _ABANDONED
            if old or (process is not None and not _is_alive(process)):
                leftover.unlink()


def _leftovers(path: Path) -> Iterator[tuple[Path, int | None]]:
    """Temporary files of a file, each with its process number, or None for another machine's."""
    for candidate in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        middle = candidate.name[len(path.name) + 2 : -len(".tmp")]
        if match := _WRITER.fullmatch(middle):
            here = match["host"] == _host()
            yield candidate, int(match["process"]) if here else None


def _is_alive(process: int) -> bool:
    if os.name == "nt":  # os.kill would end the process; the caller uses the file's age instead
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's process
        return True
    return True


@functools.cache
def _host() -> str:
    """Eight digits for this machine, because process numbers are unique on one machine only."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def remove_leftovers(path: Path) -> None:
    """Removes temporary files that `atomic` left in killed processes; the caller holds the lock."""
    for leftover, _ in _leftovers(path):
        leftover.unlink(missing_ok=True)


def check_output(
    option: str,
    path: Path,
    is_own: Callable[[Path], bool] | None = None,
    suffixes: Sequence[str] = (),
) -> None:
    """Refuses an output that cannot be written, or would replace any file but an earlier output.

    An existing file may be replaced only if its content shows that the same command wrote it, which
    no file that a command reads does. Leaves no files behind.

    Args:
        option: Name of the option that gives the output, for messages.
        path: The file to write with `atomic`.
        is_own: Whether an existing file has the content that the command writes; None for a file
            whose name dislab itself chose.
        suffixes: Ends of which the name must have one; any unless given.

    Raises:
        InputError: The name has another end, the output exists and is not the command's own, or it
            cannot be written.
    """
    try:
        if path.is_dir():
            raise InputError(f"{option} is {path}, which is a folder; name a file")
        if path.exists() and not path.is_file():
            raise InputError(f"{option} is {path}, which is no regular file; name another one")
        real = path.parent.resolve() / path.name  # the path after missing folders are created
        _check_replaced(option, path if path.exists() else real, is_own)
        if suffixes and path.suffix.lower() not in suffixes:
            raise InputError(f"{option} is {path}; its name must end in {' or '.join(suffixes)}")
        _try_to_write(real)
    except InputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{option}: {path} cannot be written: {reason}; choose a folder that you may write to"
        ) from error


def _check_replaced(option: str, path: Path, is_own: Callable[[Path], bool] | None) -> None:
    if is_own is None or not os.path.lexists(path):
        return
    try:
        if is_own(path):
            return
    except (OSError, ValueError, RecursionError, zipfile.BadZipFile):
        pass  # it cannot be read as a file of this command
    raise InputError(
        f"{option} would replace {path}, which this command did not write; name another file, or "
        "remove that one first"
    )


def _try_to_write(path: Path) -> None:
    """Creates the folders and an empty temporary file, and removes them again."""
    missing = [folder for folder in path.parents if not folder.exists()]
    new_folders: list[Path] = []
    try:
        for folder in reversed(missing):
            folder.mkdir()
            new_folders.append(folder)
        trial = _temporary(path)
        created(trial).close()
        trial.unlink()
    finally:
        for folder in reversed(new_folders):
            with suppress(OSError):  # another process may have put something there
                folder.rmdir()


def json_text(record: Mapping[str, Any]) -> str:
    """A record as JSON with a line break at its end; non-finite numbers become null.

    Args:
        record: Numbers, strings, lists, tuples and mappings.
    """
    return json.dumps(_finite(record), indent=2, allow_nan=False) + "\n"


def markdown_text(text: object) -> str:
    """A text as one line of Markdown without raw HTML, links and images, also for table cells.

    Args:
        text: Any text, such as a name in a file of somebody else.
    """
    line = " ".join(str(text).split())
    for part, escaped in _MARKUP.items():
        line = line.replace(part, escaped)
    return line


def minus_signs(text: str) -> str:
    """A text for readers, whose negative numbers have minus signs in place of hyphens.

    >>> minus_signs("a-1: -0.5 [-1, 1e-04]")
    'a-1: −0.5 [−1, 1e-04]'
    """
    return re.sub(r"(?<![\w.)/:-])-(?=\.?\d)", "−", text)


def duration(seconds: float) -> str:
    """A time in seconds, in its two largest units.

    >>> duration(3725.0)
    '1 h 2 min'
    """
    rounded = round(seconds)
    if rounded < 120:
        return f"{rounded} s"
    minutes, hours = rounded // 60, rounded // 3600
    if minutes < 60:
        return f"{minutes} min"
    if hours < 48:
        return f"{hours} h {minutes % 60} min"
    return f"{hours // 24} d {hours % 24} h"


def text_table(
    rows: Iterable[Sequence[str]], *, numbers: bool = False, above: Sequence[str] = ()
) -> list[str]:
    """Rows of a table for a terminal: aligned columns, two spaces apart.

    A last column of text that would reach beyond 100 letters is broken between words into several
    lines, so that a row may contain line breaks.

    Args:
        rows: Cells of each line, as many in every row.
        numbers: Whether all columns but the first are aligned at the right.
        above: A row above the others that widens no column, such as names of groups of columns.

    >>> text_table([["score", "value"], ["mig", "0.5"]], numbers=True)
    ['score  value', 'mig      0.5']
    """
    lines = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    room = WIDTH - sum(widths[:-1]) - 2 * (len(widths) - 1)
    if not numbers and widths and widths[-1] > room >= _LEAST_WIDTH:
        broken = f"\n{' ' * (WIDTH - room)}"
        for row in lines:
            row[-1] = broken.join(textwrap.wrap(row[-1], room, break_on_hyphens=False))
        widths[-1] = 0
    signs = ["<", *(">" if numbers else "<") * (len(widths) - 1)]
    line = "  ".join(f"{{:{sign}{width}}}" for sign, width in zip(signs, widths, strict=False))
    return [line.format(*row).rstrip() for row in ([above, *lines] if above else lines)]


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
