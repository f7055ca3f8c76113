"""Creates run folders, locks them during training, and finds their checkpoints."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from filelock import FileLock, Timeout
from lightning.pytorch import Trainer
from torch import Tensor

from dislab.errors import BusyError, InputError, suggestion
from dislab.runs.checkpoints import read_checkpoint
from dislab.runs.loggers import IDENTITY
from dislab.storage import acquire, atomic, is_component
from dislab.yaml_files import CONFIG, no_run

_DIVERGED: Final = "diverged.txt"
"""The file with the reason why training stopped at a loss that was not finite."""

_LOCK: Final = ".training"
"""The file that a training process locks."""

LAST = Path("checkpoints", "last.ckpt")
"""Path of the checkpoint for resuming, relative to the run folder."""


def last_checkpoint(trainer: Trainer) -> Path | None:
    """Path of a trainer's checkpoint for resuming; None if it writes no checkpoints."""
    folder = getattr(trainer.checkpoint_callback, "dirpath", None)
    return Path(folder, LAST.name) if folder else None


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
        version = 1 + max((_version_of(folder) for folder in parent.iterdir()), default=-1)
        while True:
            run = parent / f"version_{version}"
            try:
                run.mkdir()
            except FileExistsError:
                version += 1
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
    """Removes the folder of a run that was never trained, unless it contains other files."""
    with suppress(OSError):  # another program may have removed it
        if not all(_is_of_the_start(file) for file in run.iterdir()):
            return
        for file in run.iterdir():
            file.unlink()
        run.rmdir()
        run.parent.rmdir()  # unless it holds other runs


def _is_of_the_start(file: Path) -> bool:
    """Whether a file is one of those written before the first step."""
    is_first = file.name in (CONFIG, _LOCK, IDENTITY, "hparams.yaml")
    return is_first or file.name.startswith("events.out.tfevents.")


class Best(NamedTuple):
    """The checkpoint that a monitored value chose.

    Attributes:
        path: The file.
        monitor: Name of the value.
        score: Its value at that step.
    """

    path: Path
    monitor: str
    score: float


def checkpoint_of(run: str | Path, choice: str | Path | None = None) -> Path:
    """The checkpoint of a run whose weights are read, or the file itself.

    Args:
        run: A run folder, its folder of checkpoints, or a checkpoint file.
        choice: `best`, the one that `checkpoint.monitor` chose; `last`, from which training goes
            on; or a file, by its path or its name in the run. Unless given, the best one of a run
            with a monitor, else the last one.

    Raises:
        InputError: The checkpoint does not exist; the message lists those that do.
    """
    run = Path(run)
    if run.is_file():
        if choice is not None:
            raise InputError(f"{run} is a checkpoint already; leave out --checkpoint {choice}")
        if run.suffix != ".ckpt":
            raise no_run(run, "; or give a .ckpt file")
        return run
    if choice in (None, "best"):
        if best := best_checkpoint(run):
            return best.path
        if choice:
            raise InputError(
                f"{run} has no best checkpoint, as no monitor chose one (checkpoint.monitor with "
                f"checkpoint.save_top_k of at least 1); {_choices(run)}"
            )
    if choice in (None, "last"):
        return _last_of(run)
    paths = (Path(choice), _checkpoints(run) / choice)
    for path in filter(Path.is_file, paths):
        owner = path.absolute().parent.parent
        if (owner / CONFIG).is_file() and not owner.samefile(run):
            raise InputError(f"{path} belongs to another run than {run}; {_choices(run)}")
        return path
    names = ["best", "last", *(path.name for path in _checkpoints(run).glob("*.ckpt"))]
    hint = suggestion(str(choice), names)
    raise InputError(f"--checkpoint {choice} is no file{hint}; {_choices(run)}")


def best_checkpoint(run: str | Path) -> Best | None:
    """The checkpoint that the monitor of a run chose, according to its last checkpoint.

    Args:
        run: A run folder, or its folder of checkpoints.

    Raises:
        InputError: The last checkpoint is damaged.
    """
    folder = _checkpoints(Path(run))
    last = folder / LAST.name
    if not last.is_file():
        return None
    callbacks = read_checkpoint(last).get("callbacks")
    for state in callbacks.values() if isinstance(callbacks, Mapping) else ():
        if not isinstance(state, Mapping) or not state.get("monitor"):
            continue
        best_path, score = state.get("best_model_path"), state.get("best_model_score")
        # by its name only, as the folder may have been moved or may be from somebody else
        path = (
            folder / PurePath(best_path).name if isinstance(best_path, str) and best_path else last
        )
        if path != last and path.is_file():
            value = float(score) if isinstance(score, Tensor | float | int) else float("nan")
            return Best(path, str(state["monitor"]), value)
    return None


def _last_of(run: Path) -> Path:
    """The newest `last.ckpt`; without one, the newest checkpoint of any name."""
    folder = _checkpoints(run)
    checkpoints = sorted(
        folder.glob("*.ckpt"), key=lambda path: (path.stat().st_mtime_ns, path.name)
    )
    last = [path for path in checkpoints if re.fullmatch(r"last(-v\d+)?", path.stem)]
    if not checkpoints:
        if folder == run and not (run / CONFIG).is_file():
            raise no_run(run, "; or give a .ckpt file")
        there = ", ".join(sorted(path.name for path in folder.iterdir()))
        raise InputError(
            f"{folder} {f'holds no checkpoint, only: {there}' if there else 'is empty'}; give the "
            "folder of a run that wrote one, or a .ckpt file"
        )
    return (last or checkpoints)[-1]


def _checkpoints(run: Path) -> Path:
    """The folder of checkpoints of a run, or a folder that holds them itself."""
    return run / LAST.parent if (run / LAST.parent).is_dir() else run


def _choices(run: Path) -> str:
    names = ", ".join(sorted(path.name for path in _checkpoints(run).glob("*.ckpt")))
    return f"the run has {names or 'no checkpoint'}; choose best, last or a file"


def _version_of(folder: Path) -> int:
    match = re.fullmatch(r"version_(\d+)", folder.name)
    return int(match[1]) if match else -1


def record_divergence(run: Path, message: str) -> None:
    """Writes the reason why training stopped into `diverged.txt` of a run folder.

    Args:
        run: The run folder.
        message: The terms that were not finite, and the step.

    Raises:
        InputError: The file cannot be written.
    """
    with atomic(run / _DIVERGED) as temporary:
        temporary.write_text(f"{message}\n", encoding="utf-8")


def forget_divergence(run: Path) -> None:
    """Removes the record when training continues."""
    (run / _DIVERGED).unlink(missing_ok=True)


def has_diverged(run: str | Path) -> bool:
    """Whether the last training of a run stopped because a loss became NaN or infinite."""
    return Path(run, _DIVERGED).is_file()
