"""Atomic writes of files, and JSON text."""

import errno
import functools
import glob
import hashlib
import json
import math
import os
import platform
import re
import stat
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from dislab.errors import InputError
from dislab.storage.cache import ELSEWHERE, cache_path

_ABANDONED: Final = 24 * 3600.0
"""Seconds since the last write after which a temporary file counts as abandoned."""
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
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_dead(path)
        created(temporary).close()
        yield temporary
        _sync(temporary, _NO_LINK)
        os.replace(temporary, path)
        _sync(path.parent)
    except OSError as error:
        advice = "free some space, or choose a folder that you may write to"
        if path.is_relative_to(cache_path()):
            advice += f" ({ELSEWHERE})"
        raise InputError(f"{path} cannot be written: {error}; {advice}") from error
    finally:
        # unlink fails if the folder is a file: nothing was written there
        with suppress(OSError):
            temporary.unlink()


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

    Args:
        path: The file; others may write to its folder.
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
        if found := _WRITER.fullmatch(middle):
            here = found["host"] == _host()
            yield candidate, int(found["process"]) if here else None


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
    """Removes temporary files that killed processes left; the caller holds the lock of the file.

    Args:
        path: The file that these processes were writing with `atomic`.
    """
    for leftover, _ in _leftovers(path):
        leftover.unlink(missing_ok=True)


def check_output(option: str, path: Path, inputs: Iterable[Path]) -> None:
    """Refuses an output that cannot be written or would replace an input; leaves no files behind.

    Args:
        option: Name of the option that gives the output, for messages.
        path: The file to write with `atomic`.
        inputs: Files that are read; some may not exist.

    Raises:
        InputError: The output is an input, however its path is spelt, or cannot be written.
    """
    try:
        if path.is_dir():
            raise InputError(f"{option} is {path}, which is a folder; name a file")
        if path.exists() and not path.is_file():
            raise InputError(f"{option} is {path}, which is no regular file; name another one")
        real = path.parent.resolve() / path.name  # the path after missing folders are created
        if real.exists() and any(one.exists() and real.samefile(one) for one in inputs):
            raise InputError(f"{option} is {path}, which is an input; name another file")
        _try_to_write(real)
    except InputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{option}: {path} cannot be written: {reason}; choose a folder that you may write to"
        ) from error


def _try_to_write(path: Path) -> None:
    """Creates the folders and an empty temporary file, and removes them again."""
    missing = [folder for folder in path.parents if not folder.exists()]
    made: list[Path] = []
    try:
        for folder in reversed(missing):
            folder.mkdir()
            made.append(folder)
        trial = _temporary(path)
        created(trial).close()
        trial.unlink()
    finally:
        for folder in reversed(made):
            with suppress(OSError):  # another process may have put something there
                folder.rmdir()


def json_text(record: Mapping[str, Any]) -> str:
    """A record as JSON with a line break at its end; non-finite numbers become null.

    Args:
        record: Numbers, strings, lists, tuples and mappings.
    """
    return json.dumps(_finite(record), indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
