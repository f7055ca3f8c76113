"""Banks: one large array on disk, written once, checked when opened, mapped into memory.

A bank is a `.npy` file with a record beside it (JSON): where its rows come from, and a checksum.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import UInt8
from torch import Tensor
from tqdm import tqdm

from dislab.errors import InputError
from dislab.storage import atomic, locked, remove_leftovers, sha256

Rows = npt.NDArray[np.uint8]

_FORMAT: Final = 1


class Plan(NamedTuple):
    """What a bank must be.

    Attributes:
        path: The `.npy` file.
        shape: Number of rows and of bytes in a row.
        origin: Where the rows come from: plain strings, which the record must repeat.
        blocks: Makes the rows in their order, some at a time.
        white: Number of set bits that the rows must have, where it is known.
    """

    path: Path
    shape: tuple[int, int]
    origin: dict[str, str]
    blocks: Callable[[], Iterable[Rows]]
    white: int | None = None


def prepare_bank(plan: Plan) -> None:
    """Writes a bank, unless a sound one is there; processes that come meanwhile wait.

    A bank that was cut or altered is written anew.

    Args:
        plan: What the bank must be.

    Raises:
        InputError: The bank cannot be written, or its rows are not what they must be.
    """
    if not _fault(plan, thorough=True):
        return
    with locked(plan.path):
        if _fault(plan, thorough=True):
            remove_leftovers(plan.path)
            _write(plan)


def open_bank(plan: Plan) -> UInt8[Tensor, "row byte"]:
    """The rows of a bank, mapped from disk; what is written to them never reaches the file.

    Args:
        plan: What the bank must be.

    Raises:
        InputError: The bank is missing or damaged.
    """
    if fault := _fault(plan, thorough=False):
        raise InputError(f"{plan.path} {fault}; prepare the data set first")
    try:
        # private pages are shared by all processes until somebody writes; torch wants writable ones
        rows = np.load(plan.path, mmap_mode="c", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{plan.path} cannot be mapped: {error}; remove it") from error
    if rows.shape != plan.shape or rows.dtype != np.uint8:
        raise InputError(f"{plan.path} holds {rows.dtype} of shape {rows.shape}; remove it")
    return torch.from_numpy(rows)


def bank_record(plan: Plan) -> dict[str, str]:
    """Where the rows of a bank come from, and the checksum of its file.

    Args:
        plan: What the bank must be.

    Raises:
        InputError: The bank is missing or damaged.
    """
    if fault := _fault(plan, thorough=False):
        raise InputError(f"{plan.path} {fault}; prepare the data set first")
    record = _record(plan)
    return {**plan.origin, "sha256": record["sha256"], "white_pixels": str(record["white"])}


def _fault(plan: Plan, thorough: bool) -> str:
    """What is wrong with a bank; empty when it is sound.

    The bytes are compared with the checksum if the file was touched since it was written.
    """
    if not plan.path.is_file():
        return "does not exist"
    record = _record(plan)
    status = plan.path.stat()
    expected = {"format": _FORMAT, "shape": list(plan.shape), "origin": plan.origin}
    if any(record.get(key) != value for key, value in expected.items()):
        return "is no bank of this data set"
    if record.get("size") != status.st_size:
        return f"was cut: it has {status.st_size} bytes instead of {record.get('size')}"
    touched = record.get("modified") != status.st_mtime_ns
    if thorough and touched and record.get("sha256") != sha256(plan.path):
        return "was altered after it was written"
    return ""


def _record(plan: Plan) -> dict[str, Any]:
    try:
        record = json.loads(_beside(plan.path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", record) if isinstance(record, dict) else {}


def _write(plan: Plan) -> None:
    with atomic(plan.path) as temporary:
        with temporary.open("wb") as stream:
            digest, white = _write_rows(plan, stream)
        status = temporary.stat()
    record = {
        "format": _FORMAT,
        "shape": plan.shape,
        "origin": plan.origin,
        "white": white,
        "size": status.st_size,
        "modified": status.st_mtime_ns,
        "sha256": digest,
    }
    with atomic(_beside(plan.path)) as temporary:
        temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _write_rows(plan: Plan, stream: BinaryIO) -> tuple[str, int]:
    """Writes the array and returns the checksum of the file and the number of set bits."""
    # written in order rather than through a map: a full disk then raises instead of killing
    header = {"descr": "|u1", "fortran_order": False, "shape": plan.shape}
    np.lib.format.write_array_header_1_0(stream, header)
    digest, white, rows = _digest_so_far(stream), 0, 0
    bar = tqdm(desc=plan.path.stem, total=plan.shape[0], unit=" images", leave=False, disable=None)
    with bar:
        for block in plan.blocks():
            data = np.ascontiguousarray(block).tobytes()
            stream.write(data)
            digest.update(data)
            white += int(np.bitwise_count(block).sum(dtype=np.int64))
            rows += len(block)
            bar.update(len(block))
    if rows != plan.shape[0] or plan.white not in (None, white):
        raise InputError(
            f"the images for {plan.path} are not the published ones: {rows} with {white} white "
            f"pixels, instead of {plan.shape[0]} with {plan.white}; fetch their file again"
        )
    return digest.hexdigest(), white


def _digest_so_far(stream: BinaryIO) -> "hashlib._Hash":
    stream.flush()
    with open(stream.name, "rb") as written:
        return hashlib.sha256(written.read())


def _beside(path: Path) -> Path:
    return path.with_suffix(".json")
