"""The cache folder, for files that can be made or downloaded again, and locks of files."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import platformdirs
from filelock import FileLock, Timeout

from dislab.errors import InputError

CACHE_VARIABLE: Final = "DISLAB_CACHE"
"""Environment variable that names the cache folder."""

ELSEWHERE: Final = f"name another cache folder in the environment variable {CACHE_VARIABLE}"
"""Advice at the end of messages about a cache folder without write permission."""


def cache_path() -> Path:
    """Path of the cache folder, whether or not it exists; nothing is created."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("dislab")


def cache_folder() -> Path:
    """The cache folder, for files that can be made or downloaded again; created when missing.

    It is `$DISLAB_CACHE` if set, else the system's cache folder of the user. Existing files can be
    read without write permission.

    Raises:
        InputError: The folder cannot be made.
    """
    folder = cache_path()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the cache folder {folder} cannot be made: {error}; {ELSEWHERE}"
        ) from error
    return folder


def cache_file(name: str) -> Path:
    """Path of a file or folder in the cache folder by its name, whether or not it exists.

    Raises:
        InputError: The cache folder cannot be made, or this user may not read it.
    """
    path = cache_folder() / name
    try:
        path.stat()
    except PermissionError as error:
        raise unreadable(path, error) from error
    except OSError:  # there is none
        pass
    return path


def unreadable(path: Path, error: OSError) -> InputError:
    """The error for a file or folder of the cache that this user may not read."""
    return InputError(
        f"{path} cannot be read: {error.strerror}; have its owner permit it, or {ELSEWHERE}"
    )


_LOCKS_NOTHING: Final = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK)
"""Error numbers of file systems without locks."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Waits until no other process holds the lock of a file, and holds it during the block.

    On a file system without locks, warn on standard error and do not wait.

    Args:
        path: The file to create; the lock file lies beside it.

    Raises:
        InputError: The lock cannot be created, for example without permission.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_name(f"{path.name}.lock"))
        acquire(lock, -1, f"take care that no second process writes {path}")
    except OSError as error:
        advice = "choose a folder that you may write to"
        if path.is_relative_to(cache_path()):
            advice = ELSEWHERE
        raise InputError(
            f"{path} cannot be made, as {path.parent} cannot be written to: {error}; {advice}"
        ) from error
    try:
        yield
    finally:
        lock.release()


def acquire(lock: FileLock, timeout: int, care: str) -> None:
    """Acquire a lock; on a file system without locks, warn on standard error instead.

    Args:
        lock: The lock; the caller releases it.
        timeout: Seconds to wait for another process; -1 waits indefinitely.
        care: Advice for the user if locking is not possible.

    Raises:
        Timeout: Another process holds the lock.
        OSError: The lock cannot be created.
    """
    try:
        lock.acquire(timeout=timeout)
    except (NotImplementedError, OSError) as error:
        if isinstance(error, Timeout):
            raise
        if isinstance(error, OSError) and error.errno not in _LOCKS_NOTHING:
            raise
        folder = Path(lock.lock_file).parent
        print(
            f"dislab: warning: {folder} is on a file system without locks; {care}", file=sys.stderr
        )
