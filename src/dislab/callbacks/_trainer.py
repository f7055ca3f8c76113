"""Checked access to the trainer, its data and its objective for callbacks."""

from pathlib import Path

import lightning.pytorch as pl

from dislab.base import DataModule, Objective
from dislab.errors import InputError
from dislab.runs import Record, ScoreStage, forget_divergence, records


class RunFolder(pl.Callback):
    """Holds the path of the run folder, independent of the trainer's loggers.

    The first process creates the folder; in the others the path is None until they receive it.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.has_trained = False

    @property
    def path(self) -> Path:
        """The folder, known to all processes once the trainer has started."""
        assert self._path is not None, "the first process knows the folder, the others ask later"
        return self._path

    @property
    def display_path(self) -> str:
        """The folder for messages; `RUN` until this process receives it."""
        return "RUN" if self._path is None else str(self._path)

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Broadcasts the folder from the first process."""
        path = trainer.strategy.broadcast(None if self._path is None else str(self._path))
        self._path = Path(str(path))

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Records that training has started, which invalidates an earlier divergence."""
        self.has_trained = True
        if trainer.is_global_zero:
            forget_divergence(self.path)


def run_folder(trainer: pl.Trainer) -> Path:
    """The folder of the run; every process must call this.

    It is the folder created by the `dislab` command or, for a trainer built in Python, the folder
    of its first logger, else its root folder.
    """
    folder = _folder_of_command(trainer)
    return Path(trainer.log_dir or trainer.default_root_dir) if folder is None else folder.path


def results_folder(trainer: pl.Trainer, folder: Path, stage: ScoreStage, record: Record) -> Path:
    """The folder for a record of scores; the `dislab` command chooses its folder by the data."""
    if _folder_of_command(trainer) is not None:
        return folder
    return records.results_folder(folder, stage, record)


def _folder_of_command(trainer: pl.Trainer) -> RunFolder | None:
    callbacks = trainer.callbacks  # type: ignore[attr-defined]  # set by name
    return next((part for part in callbacks if isinstance(part, RunFolder)), None)


def objective_of(module: pl.LightningModule, who: str) -> Objective:
    """The module as an `Objective`; rejects other modules, with callback `who` in the message."""
    if not isinstance(module, Objective):
        raise InputError(f"{who} needs an Objective, not {type(module).__name__}")
    return module


def data_of(trainer: pl.Trainer, who: str) -> DataModule:
    """The trainer's `DataModule`; rejects other data, with callback `who` in the message."""
    data = getattr(trainer, "datamodule", None)
    if not isinstance(data, DataModule):
        source = "data loaders" if data is None else type(data).__name__
        raise InputError(
            f"{who} draws images of its own and needs a DataModule, not {source}; pass "
            "datamodule=… to the trainer"
        )
    return data


def is_rehearsal(trainer: pl.Trainer) -> bool:
    """Whether the trainer only checks that the code runs (`fast_dev_run`) and writes no files."""
    return bool(trainer.sanity_checking or getattr(trainer, "fast_dev_run", False))
