"""Verified downloads, checksums and formats of files."""

import hashlib
import http.client
import os
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path
from typing import Any, BinaryIO, Final

from tqdm import tqdm

from dislab.errors import InputError
from dislab.storage.cache import locked
from dislab.storage.writing import created, reopened

_CHUNK: Final = 1 << 20
_THIS_MACHINE: Final = ("127.0.0.1", "::1", "localhost")


def sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in lower-case hexadecimal."""
    return _digest(path, "sha256")


def download(
    url: str,
    path: Path,
    size: int | None = None,
    checksum: str | None = None,
    timeout: float = 30.0,
) -> None:
    """Downloads a file unless it exists; an interrupted transfer continues where it stopped.

    Args:
        url: Address of the published file: https; http is allowed for this machine only.
        path: The file to create; its name ends in `.part` until it is complete and verified.
        size: Published length in bytes, where known.
        checksum: Published SHA-256 or MD5 in hexadecimal, where known; recognised by its
            length.
        timeout: Longest time without data from the server, in seconds.

    Raises:
        InputError: The address or a redirect is not https, the download fails or stops early, or
            the bytes differ from the published ones.
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
            got = _length(part)
            raise InputError(
                f"{path.name} cannot be downloaded from {url}: {error!r}; "
                f"{got} bytes have arrived; run the same again to go on from there, or fetch the "
                f"file by hand and put it at {path}"
            ) from error
        _verify(url, part, size, checksum)
        os.replace(part, path)


def _is_safe(url: str) -> bool:
    """Whether nobody can alter a transfer from this address: https, or this machine."""
    parts = urllib.parse.urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _THIS_MACHINE)


def _not_encrypted(url: str, origin: str = "") -> InputError:
    leads = f"{origin} leads to {url}" if origin else url
    return InputError(
        f"{leads}, which is no https address; others on the way could alter the file, so it is not "
        "downloaded; fetch it by hand from a place that you trust, and give its path"
    )


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follow redirects from https to https only, and within this machine."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: Any,  # a response, which type stubs declare as a file
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
    have = _length(part)
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
        # the server has no further bytes; the checksum decides whether the file is complete
        return
    with response:
        resumed = response.status == http.HTTPStatus.PARTIAL_CONTENT
        start = have if resumed else 0
        length = response.headers.get("Content-Length")
        total = start + int(length) if length else size
        with (reopened(part) if resumed else None) or created(part) as stream:
            stream.seek(0, os.SEEK_END)
            _copy(response, stream, start, total, part.stem)
    if total is not None and part.stat().st_size < total:
        raise ConnectionError(f"the transfer ended before byte {total}")


def _length(part: Path) -> int:
    """Number of bytes that have arrived."""
    stream = reopened(part)
    if stream is None:
        return 0
    with stream:
        return stream.seek(0, os.SEEK_END)


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
        # MD5 does not protect against forgery, but some old sets publish no other checksum
        name, kind = ("MD5", "md5") if len(checksum) == 32 else ("SHA-256", "sha256")
        if (digest := _digest(part, kind)) != checksum.lower():
            wrong = f"{name} {digest} instead of {checksum.lower()}"
    if wrong:
        part.unlink()
        raise InputError(
            f"what {url} sent is not the published file: {wrong}; it was removed; try again, and "
            "if that changes nothing, fetch the file from another place"
        )


def _digest(path: Path, kind: str) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, kind).hexdigest()


_HEADS: Final = (
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"MATLAB", "a MATLAB file"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\x80", "a pickle or an old file of torch.save"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"II*\0", "an image"),
    (b"MM\0*", "an image"),
)
"""First bytes of formats."""
_READ: Final = 1024


def foreign_format(path: Path) -> str:
    """Format of a file that holds no arrays of NumPy, such as `an HDF5 file`.

    Empty for a file of NumPy, and if the format is unknown.
    """
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
            if any(name.endswith(".npy") for name in names):
                return ""
            torch = any(name.endswith("/data.pkl") for name in names)
            return "a file of torch.save" if torch else "a zip archive without arrays"
        with path.open("rb") as stream:
            head = stream.read(_READ)
    except (OSError, zipfile.BadZipFile):
        return ""
    for start, name in _HEADS:
        if head.startswith(start):
            return name
    return "a text file" if min(head, default=0) >= ord("\t") else ""
