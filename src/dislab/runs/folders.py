"""Creates run folders, locks them during training, and finds their checkpoints."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout
from lightning.pytorch import Trainer

from dislab.errors import BusyError, InputError
from dislab.runs.loggers import IDENTITY
from dislab.storage import acquire, is_component

CONFIG: Final = "config.yaml"

_LOCK: Final = ".training"
"""The file that a training process locks."""

LAST = Path("checkpoints", "last.ckpt")
"""Path of the checkpoint for resuming, relative to the run folder."""


def last_checkpoint(trainer: Trainer) -> Path | None:
    """Path of a trainer's checkpoint for resuming; None if it writes no checkpoints.

    Args:
        trainer: The trainer.
    """
    kept = getattr(trainer.checkpoint_callback, "dirpath", None)
    return Path(kept, LAST.name) if kept else None


def new_run(root: str | Path, name: str) -> Path:
    """Creates a run folder `<root>/<name>/version_<k>`, with k above all existing numbers.

    Simultaneous calls from several processes return different folders.

    Args:
        root: The folder of all runs; created if missing.
        name: Name of the run.

    Raises:
        InputError: The name is no plain folder name, or the folder cannot be created.
    """
    if not is_component(name):
        raise InputError(
            f"{name!r:.80} cannot name a run; use letters, digits and . _ + = , - without "
            "slashes, at most 200"
        )
    parent = Path(root, name)
    try:
        parent.mkdir(parents=True, exist_ok=True)
        number = 1 + max((_number(folder) for folder in parent.iterdir()), default=-1)
        while True:
            run = parent / f"version_{number}"
            try:
                run.mkdir()
            except FileExistsError:
                number += 1
            else:
                return run
    except OSError as error:
        raise InputError(
            f"no run folder can be made in {parent}: {error.strerror}; choose another root folder"
        ) from error


@contextmanager
def trained_alone(run: Path) -> Iterator[None]:
    """Prevents other processes from training a run; scoring and reading remain possible.

    The lock of a killed process is released. On a file system without locks, a warning on standard
    error replaces the lock.

    Args:
        run: The run folder.

    Raises:
        BusyError: Another process is training the run.
        InputError: The folder cannot be written to.
    """
    lock = FileLock(run / _LOCK)
    try:
        acquire(lock, 0, "take care that no second process trains this run")
    except Timeout:
        raise BusyError(
            f"{run} is being trained by another process; wait until it has ended, or end it. "
            "Scoring needs no waiting: dislab test --run"
        ) from None
    except OSError as error:
        raise InputError(
            f"{run} cannot be written to: {error.strerror}; training needs a folder that you "
            "may write to"
        ) from error
    try:
        yield
    finally:
        lock.release()


def remove_unused(run: Path) -> None:
    """Removes the folder of a run that was never trained, unless it contains other files.

    Args:
        run: The run folder.
    """
    with suppress(OSError):  # another program may have removed it
        if not all(_is_of_the_start(file) for file in run.iterdir()):
            return
        for file in run.iterdir():
            file.unlink()
        run.rmdir()
        run.parent.rmdir()  # unless it holds other runs


def _is_of_the_start(file: Path) -> bool:
    """Whether a file is one of those written before the first step."""
    named = file.name in (CONFIG, _LOCK, IDENTITY, "hparams.yaml")
    return named or file.name.startswith("events.out.tfevents.")


def checkpoint_of(run: str | Path) -> Path:
    """The checkpoint for resuming: the last one of a run folder, or the file itself.

    In a run folder this is the newest `last.ckpt`; without one, the newest checkpoint of any name.

    Args:
        run: A run folder, its folder of checkpoints, or a checkpoint file.

    Raises:
        InputError: No checkpoint exists; the message lists the files found instead.
    """
    run = Path(run)
    if run.is_file():
        return run
    if not run.is_dir():
        raise InputError(f"{run} does not exist; give a run folder or a checkpoint file")
    folder = run / "checkpoints" if (run / "checkpoints").is_dir() else run
    found = sorted(folder.glob("*.ckpt"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    last = [path for path in found if re.fullmatch(r"last(-v\d+)?", path.stem)]
    if not found:
        there = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
        raise InputError(
            f"{folder} holds no checkpoint, only: {there}; give the folder of one run, such "
            "as runs/name/version_0, or a .ckpt file"
        )
    return (last or found)[-1]


def _number(folder: Path) -> int:
    match = re.fullmatch(r"version_(\d+)", folder.name)
    return int(match[1]) if match else -1
