"""Locks of files against other processes."""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from dislab.errors import InputError
from dislab.storage.cache import ELSEWHERE, cache_path

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
