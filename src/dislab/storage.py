"""Files that dislab keeps: the cache folder, atomic writes, locks and verified downloads.

Standard library, platformdirs, filelock and tqdm only.
"""

import errno
import functools
import glob
import hashlib
import http.client
import json
import math
import os
import platform
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

import platformdirs
from filelock import FileLock, Timeout
from tqdm import tqdm

from dislab.errors import InputError

CACHE_VARIABLE: Final = "DISLAB_CACHE"
"""Environment variable that names the cache folder."""

_CHUNK: Final = 1 << 20
_THIS_MACHINE: Final = ("127.0.0.1", "::1", "localhost")
_ABANDONED: Final = 24 * 3600.0
"""Seconds after which a temporary file that nobody writes to is taken for left behind."""
_LOCKS_NOTHING: Final = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK)
"""What file systems say that know no locks."""
_WRITER: Final = re.compile(r"(?:(?P<host>[0-9a-f]{8})-(?P<process>\d{1,9})-)?[0-9a-f]{8}")
"""The part of a temporary file's name that says who writes it."""


def cache_path() -> Path:
    """Where the cache folder is or would be; neither made nor written to."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("dislab")


def cache_folder() -> Path:
    """The folder of everything that can be made or fetched again; created when missing.

    It is `$DISLAB_CACHE` where that is set, else the user's cache folder of this system. What is
    in it can be used without permission to write.

    Raises:
        InputError: The folder cannot be made.
    """
    folder = cache_path()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the cache folder {folder} cannot be made: {error}; {_ELSEWHERE}"
        ) from error
    return folder


_ELSEWHERE: Final = f"name another cache folder in the environment variable {CACHE_VARIABLE}"


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary name beside a file; what is written there takes the file's place at the end.

    Nobody ever sees half a file: when the block raises, the temporary file is removed and the old
    file, if any, stays. The content is on the disk before it takes the place, so that not even a
    power failure leaves half a file. Temporary files of killed processes are removed by the next
    write of the same file; those of processes at work, or of another machine within a day, are
    left alone.

    Args:
        path: The file to make or replace; its folder is created.

    Raises:
        InputError: The file cannot be written, for want of space or permission.
    """
    temporary = _temporary(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_dead(path)
        yield temporary
        _sync(temporary)
        os.replace(temporary, path)
        _sync(path.parent)
    except OSError as error:
        advice = "free some space, or choose a folder that you may write to"
        if path.is_relative_to(cache_path()):
            advice += f" ({_ELSEWHERE})"
        raise InputError(f"{path} cannot be written: {error}; {advice}") from error
    finally:
        # where the folder is a file, there is nothing to remove, and looking for it is an error
        with suppress(OSError):
            temporary.unlink()


def _sync(path: Path) -> None:
    """Waits until a file or the names in a folder are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that syncs no folders
            raise
    finally:
        os.close(descriptor)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{_host()}-{os.getpid()}-{uuid.uuid4().hex[:8]}.tmp")


def _remove_dead(path: Path) -> None:
    """Removes what killed processes left of a file while another process may be writing it."""
    for leftover, process in _leftovers(path):
        with suppress(OSError):  # its writer may end, or another one remove it, meanwhile
            old = time.time() - leftover.stat().st_mtime > _ABANDONED
            if old or (process is not None and not _is_alive(process)):
                leftover.unlink()


def _leftovers(path: Path) -> Iterator[tuple[Path, int | None]]:
    """Temporary files of a file, and the process that writes each, if it is of this machine."""
    for candidate in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        middle = candidate.name[len(path.name) + 2 : -len(".tmp")]
        if found := _WRITER.fullmatch(middle):
            here = found["host"] == _host()
            yield candidate, int(found["process"]) if here else None


def _is_alive(process: int) -> bool:
    if os.name == "nt":  # where the probe would end the process; age decides
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # a process of another user
        return True
    return True


@functools.cache
def _host() -> str:
    """Eight digits for this machine: processes have their numbers from it."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def json_text(record: Mapping[str, Any]) -> str:
    """A record as JSON with a line break at its end; numbers that are not finite become null.

    Args:
        record: Numbers, strings, lists, tuples and mappings.
    """
    return json.dumps(_finite(record), indent=2, allow_nan=False) + "\n"


def remove_leftovers(path: Path) -> None:
    """Removes what killed processes left of a file; the caller holds its lock.

    Args:
        path: The file that they were writing with `atomic`.
    """
    for leftover, _ in _leftovers(path):
        leftover.unlink(missing_ok=True)


def check_output(option: str, path: Path, inputs: Iterable[Path]) -> None:
    """Refuses an output that cannot be written, or would replace an input; nothing is left behind.

    Args:
        option: What names the output, for messages.
        path: The file to write with `atomic`.
        inputs: Files that are read; some may not exist.

    Raises:
        InputError: The output is an input, in whatever spelling, or no file can be written there.
    """
    try:
        if path.is_dir():
            raise InputError(f"{option} is {path}, which is a folder; name a file")
        if path.exists() and not path.is_file():
            raise InputError(f"{option} is {path}, which is no regular file; name another one")
        real = path.parent.resolve() / path.name  # as it will be when missing folders are made
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
    """Makes the folders and an empty temporary file, and removes them again."""
    missing = [folder for folder in path.parents if not folder.exists()]
    made: list[Path] = []
    try:
        for folder in reversed(missing):
            folder.mkdir()
            made.append(folder)
        trial = _temporary(path)
        trial.touch()
        trial.unlink()
    finally:
        for folder in reversed(made):
            with suppress(OSError):  # another process may have put something there
                folder.rmdir()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Waits until no other process holds the lock of a file, and holds it meanwhile.

    On a file system without locks nobody waits, and a line on standard error says so.

    Args:
        path: The file to make; the lock lies beside it.

    Raises:
        InputError: The lock cannot be made, for want of permission.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_name(f"{path.name}.lock"))
        acquire(lock, -1, f"take care that no second process writes {path}")
    except OSError as error:
        advice = "choose a folder that you may write to"
        if path.is_relative_to(cache_path()):
            advice = _ELSEWHERE
        raise InputError(
            f"{path} cannot be made, as {path.parent} cannot be written to: {error}; {advice}"
        ) from error
    try:
        yield
    finally:
        lock.release()


def acquire(lock: FileLock, timeout: int, care: str) -> None:
    """Acquires a lock; where the file system knows no locks, a line on standard error says so.

    Args:
        lock: The lock; releasing it is the caller's.
        timeout: Seconds to wait for another process; -1 waits for ever.
        care: What the user has to take care of where nothing is locked.

    Raises:
        Timeout: Another process holds the lock.
        OSError: The lock cannot be made.
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


def sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in lower-case hexadecimal.

    Args:
        path: The file.
    """
    return _digest(path, "sha256")


def download(
    url: str,
    path: Path,
    size: int | None = None,
    checksum: str | None = None,
    timeout: float = 30.0,
) -> None:
    """Fetches a file, unless it is there already; a broken transfer goes on where it stopped.

    Args:
        url: Where the file is published: an https address; http is for this machine itself.
        path: Where it goes; until it is complete and verified, `.part` is added to the name.
        size: Its published length in bytes, where it is known.
        checksum: Its published SHA-256 or MD5 in hexadecimal, where one is known; their lengths
            tell them apart.
        timeout: Longest silence of the server, in seconds.

    Raises:
        InputError: The address is not https or leads to one that is not, the file cannot be had,
            the transfer broke off, or the bytes are not the published ones.
    """
    if not _is_safe(url):
        raise _not_encrypted(url)
    with locked(path):
        if path.is_file():
            return
        part = path.with_name(f"{path.name}.part")
        try:
            _transfer(url, part, size, timeout)
        except (OSError, http.client.HTTPException) as error:
            got = part.stat().st_size if part.is_file() else 0
            raise InputError(
                f"{path.name} cannot be downloaded from {url}: {error!r}; "
                f"{got} bytes have arrived; run the same again to go on from there, or fetch the "
                f"file by hand and put it at {path}"
            ) from error
        _verify(url, part, size, checksum)
        os.replace(part, path)


def _is_safe(url: str) -> bool:
    """Whether nobody between here and the server can alter what it sends."""
    parts = urllib.parse.urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _THIS_MACHINE)


def _not_encrypted(url: str, origin: str = "") -> InputError:
    leads = f"{origin} leads to {url}" if origin else url
    return InputError(
        f"{leads}, which is no https address; others on the way could alter the file, so it is not "
        "downloaded; fetch it by hand from a place that you trust, and give its path"
    )


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect from https to https only, and within this machine."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: Any,  # a response, which typing takes for a file
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        encrypted = urllib.parse.urlsplit(newurl).scheme == "https"
        if not encrypted and not (req.type == "http" and _is_safe(newurl)):
            raise _not_encrypted(newurl, req.full_url)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _transfer(url: str, part: Path, size: int | None, timeout: float) -> None:
    have = part.stat().st_size if part.is_file() else 0
    if size is not None and have >= size:
        return
    request = urllib.request.Request(url, headers={"User-Agent": "dislab"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        response = urllib.request.build_opener(_SafeRedirects).open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        # the server has no byte beyond what is here: the checksum decides whether that is all
        return
    with response:
        resumed = response.status == http.HTTPStatus.PARTIAL_CONTENT
        start = have if resumed else 0
        length = response.headers.get("Content-Length")
        total = start + int(length) if length else size
        with part.open("ab" if resumed else "wb") as stream:
            _copy(response, stream, start, total, part.stem)
    if total is not None and part.stat().st_size < total:
        raise ConnectionError(f"the transfer ended before byte {total}")


def _copy(
    response: http.client.HTTPResponse, stream: BinaryIO, start: int, total: int | None, name: str
) -> None:
    bar = tqdm(
        desc=name, total=total, initial=start, unit="B", unit_scale=True, leave=False, disable=None
    )
    with bar:
        while chunk := response.read(_CHUNK):
            stream.write(chunk)
            bar.update(len(chunk))


def _verify(url: str, part: Path, size: int | None, checksum: str | None) -> None:
    got = part.stat().st_size
    wrong = f"{got} bytes instead of {size}" if size not in (None, got) else ""
    if not wrong and checksum is not None:
        # MD5 is no guard against malice, but the only published checksum of some old sets
        name, kind = ("MD5", "md5") if len(checksum) == 32 else ("SHA-256", "sha256")
        if (found := _digest(part, kind)) != checksum.lower():
            wrong = f"{name} {found} instead of {checksum.lower()}"
    if wrong:
        part.unlink()
        raise InputError(
            f"what {url} sent is not the published file: {wrong}; it was removed; try again, and "
            "if that changes nothing, fetch the file from another place"
        )


def _digest(path: Path, kind: str) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, kind).hexdigest()


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
