"""Banks: large arrays on disk, written once, checked when opened, and mapped into memory.

A bank is a `.npy` file with a JSON record next to it: the origin of its rows, and a checksum.
"""

import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np
import torch
from jaxtyping import Int, UInt8
from torch import Tensor
from tqdm import tqdm

from dislab.datasets.bank.blocks import Blocks, Rows, journal, write_blocks
from dislab.errors import InputError, one_line
from dislab.storage import atomic, locked, read_json, remove_leftovers, sha256, unreadable

__all__ = [
    "BankSpec",
    "Blocks",
    "Rows",
    "bank_record",
    "bank_rows",
    "host_rows",
    "open_bank",
    "prepare_bank",
]

_FORMAT: Final = 1
_CHUNK: Final = 1 << 20


class BankSpec(NamedTuple):
    """Shape, origin and content of a bank.

    Attributes:
        path: The `.npy` file.
        shape: Number of rows, and of bytes per row.
        origin: Origin of the rows as plain strings, which must equal those in the record.
        blocks: Makes the rows: either all in order, in chunks; or in numbered blocks by several
            threads, so that an interrupted run can be continued by the next one.
        white: Required number of set bits in the rows, if known.
        packed: Whether each bit is a pixel; set bits are then counted as white pixels.
    """

    path: Path
    shape: tuple[int, int]
    origin: dict[str, str]
    blocks: Callable[[], Iterable[Rows]] | Blocks
    white: int | None = None
    packed: bool = True


def prepare_bank(spec: BankSpec) -> None:
    """Writes a bank, unless an intact one exists; other processes wait meanwhile.

    A bank that was truncated or altered is rewritten.

    Raises:
        InputError: The bank cannot be written, or its rows have another shape or type.
    """
    if not _fault(spec, thorough=True):
        return
    with locked(spec.path):
        if _fault(spec, thorough=True):
            remove_leftovers(spec.path)
            _write(spec)


def open_bank(spec: BankSpec) -> UInt8[Tensor, "row byte"]:
    """The rows of a bank, mapped from disk; changes to them never reach the file.

    Raises:
        InputError: The bank is missing or damaged.
    """
    if fault := _fault(spec, thorough=False):
        raise InputError(f"{spec.path} {fault}; prepare the data set first")
    try:
        # private pages are shared by all processes until written to; torch needs writable pages
        rows = np.load(spec.path, mmap_mode="c", allow_pickle=False)
    except PermissionError as error:
        raise unreadable(spec.path, error) from error
    except (OSError, ValueError) as error:
        raise InputError(f"{spec.path} cannot be mapped: {one_line(error)}; remove it") from error
    if rows.shape != spec.shape or rows.dtype != np.uint8:
        raise InputError(f"{spec.path} holds {rows.dtype} of shape {rows.shape}; remove it")
    return torch.from_numpy(rows)


def bank_rows(
    bank: UInt8[Tensor, "row byte"], index: Int[Tensor, " batch"]
) -> UInt8[Tensor, "batch byte"]:
    """Copies of rows, on the device of bank and index."""
    return torch.from_numpy(host_rows(bank, index)) if index.device.type == "cpu" else bank[index]


def host_rows(bank: UInt8[Tensor, "row byte"], index: Int[Tensor, " batch"]) -> Rows:
    """Copies of rows on the host, several times as fast as torch makes them."""
    return bank.numpy().take(index.numpy(), axis=0)


def bank_record(spec: BankSpec) -> dict[str, str]:
    """Origin of the rows of a bank, checksum of its file, and number of white pixels.

    Raises:
        InputError: The bank is missing or damaged.
    """
    if fault := _fault(spec, thorough=False):
        raise InputError(f"{spec.path} {fault}; prepare the data set first")
    record = _record(spec)
    white = {"white_pixels": str(record["white"])} if spec.packed else {}
    return {**spec.origin, "sha256": record["sha256"], **white}


def _fault(spec: BankSpec, thorough: bool) -> str:
    """Description of the fault of a bank; empty for an intact one.

    The bytes are compared with the checksum if the file was modified since it was written.
    """
    if not spec.path.is_file():
        return "does not exist"
    record = _record(spec)
    status = spec.path.stat()
    expected = {"format": _FORMAT, "shape": list(spec.shape), "origin": spec.origin}
    if any(record.get(key) != value for key, value in expected.items()):
        return "is no bank of this data set"
    if record.get("size") != status.st_size:
        return f"was cut: it has {status.st_size} bytes instead of {record.get('size')}"
    touched = record.get("modified") != status.st_mtime_ns
    if thorough and touched and record.get("sha256") != sha256(spec.path):
        return "was altered after it was written"
    return ""


def _record(spec: BankSpec) -> dict[str, Any]:
    try:
        return read_json(_beside(spec.path), "")
    except InputError:
        return {}


def _write(spec: BankSpec) -> None:
    with atomic(spec.path) as temporary:
        if isinstance(spec.blocks, Blocks):
            digest, white = _write_blocks(spec, spec.blocks, temporary)
        else:
            with temporary.open("wb") as stream:
                digest, white = _write_rows(spec, spec.blocks(), stream)
        status = temporary.stat()
    record = {
        "format": _FORMAT,
        "shape": spec.shape,
        "origin": spec.origin,
        "white": white,
        "size": status.st_size,
        "modified": status.st_mtime_ns,
        "sha256": digest,
    }
    with atomic(_beside(spec.path)) as temporary:
        temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _write_blocks(spec: BankSpec, blocks: Blocks, temporary: Path) -> tuple[str, int]:
    """Makes the missing rows, and returns the checksum of the file and the number of set bits."""
    part = spec.path.with_name(f".{spec.path.name}.part")
    header = _header(spec.shape)
    write_blocks(blocks, spec.shape, header, part, spec.origin)
    digest, white = hashlib.sha256(header), 0
    with part.open("rb") as stream:
        stream.seek(len(header))
        while data := stream.read(_CHUNK):
            digest.update(data)
            white += _set_bits(spec, np.frombuffer(data, dtype=np.uint8))
    os.replace(part, temporary)
    journal(part).unlink()
    _check(spec, spec.shape[0], white)
    return digest.hexdigest(), white


def _write_rows(spec: BankSpec, blocks: Iterable[Rows], stream: BinaryIO) -> tuple[str, int]:
    """Writes the array and returns the checksum of the file and the number of set bits."""
    # written in order, not memory-mapped, so that a full disk raises an error instead of killing
    header = _header(spec.shape)
    stream.write(header)
    digest, white, rows = hashlib.sha256(header), 0, 0
    bar = tqdm(desc=spec.path.stem, total=spec.shape[0], unit=" images", leave=False, disable=None)
    with bar:
        for block in blocks:
            data = np.ascontiguousarray(block).tobytes()
            stream.write(data)
            digest.update(data)
            white += _set_bits(spec, block)
            rows += len(block)
            bar.update(len(block))
    _check(spec, rows, white)
    return digest.hexdigest(), white


def _check(spec: BankSpec, rows: int, white: int) -> None:
    if rows != spec.shape[0] or spec.white not in (None, white):
        raise InputError(
            f"the images for {spec.path} are not the published ones: {rows} with {white} white "
            f"pixels, instead of {spec.shape[0]} with {spec.white}; fetch their file again"
        )


def _set_bits(spec: BankSpec, rows: Rows) -> int:
    return int(np.bitwise_count(rows).sum(dtype=np.int64)) if spec.packed else 0


def _header(shape: tuple[int, int]) -> bytes:
    stream = io.BytesIO()
    fields = {"descr": "|u1", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, fields)
    return stream.getvalue()


def _beside(path: Path) -> Path:
    return path.with_suffix(".json")
