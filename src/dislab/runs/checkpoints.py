"""Checkpoint files: written atomically with a checksum, read as tensors and plain data only."""

import functools
import hashlib
import os
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import lightning
import torch
from lightning.fabric.plugins import TorchCheckpointIO

from dislab.errors import InputError, lacks_memory, one_line
from dislab.storage import atomic, remove_leftovers

_END: Final = struct.Struct("<4s4H2LH")
"""Last record of a ZIP archive, the format of PyTorch's checkpoints: its final field is the length
of the comment that follows."""

_SIGNATURE: Final = b"PK\x05\x06"
_MARK: Final = b"dislab-sha256:"
_CHUNK: Final = 1 << 20
_COMMENT: Final = len(_MARK) + hashlib.sha256().digest_size * 2

_KINDS: Final[dict[str, type | tuple[type, ...]]] = {
    "state_dict": Mapping,
    "global_step": int,
    "pytorch-lightning_version": str,
}
"""Keys of every checkpoint of a run."""

_OF_TRAINING: Final[dict[str, type | tuple[type, ...]]] = {
    "epoch": int,
    "hyper_parameters": Mapping,
    "loops": Mapping,
    "callbacks": Mapping,
    "optimizer_states": list,
    "lr_schedulers": list,
}
"""Additional keys required to resume training."""


class CheckpointFiles(TorchCheckpointIO):
    """Replaces checkpoint files atomically, and rejects damaged ones.

    The previous file is kept until the new one is on disk. The SHA-256 of the whole content is
    stored in the comment of the checkpoint's ZIP archive, which PyTorch ignores.
    """

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any | None = None
    ) -> None:
        """Writes a file.

        Args:
            checkpoint: Tensors and plain data.
            path: The file, which is created or replaced.
            storage_options: Not used.

        Raises:
            InputError: The file cannot be written, for lack of space or permission.
        """
        path = Path(path)
        remove_leftovers(path)
        with atomic(path) as temporary:
            with temporary.open("wb") as file:
                _save(checkpoint, file)
            with temporary.open("r+b") as file:
                _sign(file)

    def load_checkpoint(
        self,
        path: str | Path,
        map_location: Callable[..., Any] | None = None,
        weights_only: bool | None = None,
    ) -> dict[str, Any]:
        """Reads a file onto the CPU.

        Args:
            path: The file.
            map_location: Not used.
            weights_only: Not used: only tensors and plain data are ever read.

        Raises:
            InputError: The file is missing, damaged, or no checkpoint of a run.
        """
        return _read(Path(path), mmap=False)


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """Content of a checkpoint file; tensors are on the CPU and loaded lazily.

    Raises:
        InputError: The file is missing, damaged, contains anything other than tensors and plain
            data, or belongs to no training run.
    """
    return _read(Path(path), mmap=True)


def check_resumable(
    path: str | Path, stored: Mapping[str, Any], counters: Mapping[str, Any] | None = None
) -> None:
    """Checks that a checkpoint holds the complete state of training.

    Args:
        path: The file, for the message.
        stored: Content of the file.
        counters: State of the training loop of a new trainer, as a template of the required keys;
            None without a trainer.

    Raises:
        InputError: An entry is missing or of a wrong type; the message names it.
    """
    problems = _problems(stored, _OF_TRAINING)
    loops = stored.get("loops")
    if isinstance(loops, Mapping):
        same = stored.get("pytorch-lightning_version") == lightning.__version__
        problems += _unlike(loops.get("fit_loop"), counters or {}, "loops.fit_loop", same)
    states = stored.get("optimizer_states")
    if isinstance(states, list) and not (states and all(_is_state(state) for state in states)):
        problems.append("optimizer_states")
    if problems:
        raise InputError(
            f"training cannot go on from {path}: it lacks {_listed(problems)}, or holds something "
            "else there; it was saved with weights only, or changed by another program. Use an "
            "earlier checkpoint, or score this one by dislab test"
        )


def short(error: BaseException) -> str:
    """The message of an error on one line of at most 300 characters."""
    return one_line(error)[:300] or type(error).__name__


def _save(checkpoint: dict[str, Any], file: BinaryIO) -> None:
    """Writes an archive; raises OSError if writing to disk fails."""
    try:
        torch.save(checkpoint, file)
    except RuntimeError as error:
        # PyTorch also closes an archive after a failed write, which raises another error
        if isinstance(error.__context__, OSError):
            raise error.__context__ from None
        raise


def _read(path: Path, mmap: bool) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(f"the checkpoint {path} does not exist; give a .ckpt file of a run")
    try:
        status = path.stat()
        _verify(path, status.st_ino, status.st_size, status.st_mtime_ns)
        stored = torch.load(path, map_location="cpu", weights_only=True, mmap=mmap)
    except InputError:
        raise
    except Exception as error:  # torch.load raises many types of errors for a damaged file
        if lacks_memory(error):
            raise
        raise InputError(
            f"{path} cannot be read as a checkpoint: it is damaged, of another program, or holds "
            f"objects that are no plain numbers ({short(error)})"
        ) from error
    problems = _problems(stored, _KINDS) if isinstance(stored, dict) else sorted(_KINDS)
    if not problems and not all(isinstance(name, str) for name in stored["state_dict"]):
        problems = ["names in state_dict"]
    if not problems and not isinstance(stored.get("hyper_parameters", {}), Mapping):
        problems = ["hyper_parameters"]
    if problems:
        raise InputError(
            f"{path} is no checkpoint of a training run: it lacks {_listed(problems)}; "
            "give a .ckpt file of a run"
        )
    return cast("dict[str, Any]", stored)


def _problems(stored: Mapping[str, Any], kinds: Mapping[str, type | tuple[type, ...]]) -> list[str]:
    """Names of the entries that are missing or of a wrong type."""
    return sorted(name for name, kind in kinds.items() if not isinstance(stored.get(name), kind))


def _unlike(value: object, example: object, name: str, complete: bool) -> list[str]:
    """Outermost entries of a nested value whose types differ from those of an example.

    Entries may be missing unless `complete`, as they depend on the release of Lightning.
    """
    if not isinstance(example, Mapping):
        same = example is None or type(value) is type(example)
        return [] if same else [name]
    if not isinstance(value, Mapping):
        return [name]
    return [
        problem
        for key, inner in example.items()
        if complete or key in value
        for problem in _unlike(value.get(key), inner, f"{name}.{key}", complete)
    ]


def _is_state(state: object) -> bool:
    """Whether a value is the state of an optimiser."""
    return isinstance(state, Mapping) and {"state", "param_groups"} <= state.keys()


def _listed(names: list[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _sign(file: BinaryIO) -> None:
    """Appends to an archive the checksum of its content."""
    file.seek(-_END.size, os.SEEK_END)
    *fields, length = _END.unpack(file.read(_END.size))
    if fields[0] != _SIGNATURE or length:
        raise RuntimeError("torch.save wrote no plain ZIP archive; its format has changed")
    file.seek(-_END.size, os.SEEK_END)
    file.write(_END.pack(*fields, _COMMENT))
    length = file.tell()
    file.seek(0)
    digest = _digest(file, length)
    file.seek(length)
    file.write(_MARK + digest)


# Cached, as a command reads a checkpoint several times and a large one takes a while; the other
# arguments distinguish a file from its replacement.
@functools.lru_cache(maxsize=8)
def _verify(path: Path, inode: int, size: int, changed: int) -> None:
    """Compares the content of a file with its checksum, if it has one.

    A file written by PyTorch itself has none, and ends with the last record of its archive.
    """
    with path.open("rb") as file:
        file.seek(max(0, size - _END.size))
        last = file.read()
        if len(last) == _END.size and _END.unpack(last)[0] == _SIGNATURE and last.endswith(b"\0\0"):
            return
        file.seek(max(0, size - _COMMENT))
        comment = file.read()
        file.seek(0)
        if comment == _MARK + _digest(file, size - _COMMENT):
            return
    raise InputError(
        f"{path} cannot be read as a checkpoint: it is damaged, or of another program; its content "
        "does not match its checksum. Use another checkpoint"
    )


def _digest(file: BinaryIO, length: int) -> bytes:
    """SHA-256 of the next bytes of a file, in hexadecimal."""
    digest = hashlib.sha256()
    while length > 0 and (chunk := file.read(min(_CHUNK, length))):
        digest.update(chunk)
        length -= len(chunk)
    return digest.hexdigest().encode()
