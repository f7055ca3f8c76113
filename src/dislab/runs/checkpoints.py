"""Checkpoint files: read with nothing but tensors and plain data in them."""

from pathlib import Path
from typing import Any, cast

import torch

from dislab.errors import InputError


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """What a checkpoint file holds, with its tensors on the CPU and read when they are used.

    Args:
        path: The file.

    Raises:
        InputError: It is missing, damaged, holds anything but tensors and plain data, or is of
            no training run.
    """
    if not Path(path).is_file():
        raise InputError(f"there is no checkpoint {path}; give a .ckpt file of a run")
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # torch.load raises half a dozen types for a damaged file
        raise InputError(
            f"{path} cannot be read as a checkpoint: it is damaged, of another program, or holds "
            f"objects that are no plain numbers ({short(error)})"
        ) from error
    missing = {"state_dict", "global_step", "pytorch-lightning_version"} - set(
        stored if isinstance(stored, dict) else ()
    )
    if missing:
        raise InputError(
            f"{path} is no checkpoint of a training run: it lacks {', '.join(sorted(missing))}; "
            "give a .ckpt file of a run"
        )
    return cast("dict[str, Any]", stored)


def short(error: BaseException) -> str:
    """The message of an error on one line of at most 300 characters.

    Args:
        error: The error.
    """
    return " ".join(str(error).split())[:300] or type(error).__name__
