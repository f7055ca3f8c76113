"""The page of a run, written after its scores."""

import sys
from pathlib import Path
from typing import final

import lightning.pytorch as pl

from dislab.base import DataModule, Objective
from dislab.callbacks._trainer import data_of, is_rehearsal, objective_of, run_folder
from dislab.errors import InputError, one_line
from dislab.report import PAGE, Failure, ReportedRun, write_page
from dislab.runs import load_run
from dislab.runs.published import without_paths


@final
class RunPage(pl.Callback):
    """Writes `report.html` into the run folder at the end of `test` and `validate`.

    The page shows the files that exist at that time, so place this callback after those for scores
    and pictures. If the page cannot be written, the run continues, with a warning that gives the
    reason and the command to try again. If a score fails, the page says so, without its result.

    Attributes:
        written: Whether the page has been written.
    """

    def __init__(self) -> None:
        self.written = False
        self._command = ""

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Notes that a page is due, except in validations during training."""
        self._command, self.written = "validate" if trainer.state.fn == "validate" else "", False

    def on_test_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Notes that a page is due."""
        self._command, self.written = "test", False

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Writes the page, except after validations during training."""
        if trainer.state.fn == "validate":
            self._run(trainer, pl_module)

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Writes the page."""
        self._run(trainer, pl_module)

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Writes the page of a run whose scoring failed, which says what failed."""
        is_due = self._command and not self.written and isinstance(exception, Exception)
        # with other processes, which may be elsewhere by now, the folder cannot be asked for
        if not is_due or is_rehearsal(trainer) or trainer.world_size > 1:
            return
        try:
            module, data = objective_of(pl_module, "RunPage"), data_of(trainer, "RunPage")
        except InputError:  # of a trainer with loaders of torch
            return
        folder, text = run_folder(trainer), one_line(exception) or type(exception).__name__
        failure = Failure(without_paths(text), self._command)
        self._write(folder, module, data, trainer.ckpt_path, failure)
        if self.written:
            print(f"The page of the run, without these scores: {folder / PAGE}", file=sys.stderr)

    def _run(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if is_rehearsal(trainer):
            return
        module, data = objective_of(pl_module, "RunPage"), data_of(trainer, "RunPage")
        folder = run_folder(trainer)
        if trainer.is_global_zero:
            self._write(folder, module, data, trainer.ckpt_path)
        trainer.strategy.barrier("page")

    def _write(
        self,
        folder: Path,
        module: Objective,
        data: DataModule,
        checkpoint: str | Path | None,
        failure: Failure | None = None,
    ) -> None:
        page = folder / PAGE
        try:
            stored = _stored(checkpoint or folder, module)
            write_page([ReportedRun(folder, stored, data, failure)], page)
        except Exception as error:  # the run is finished; `dislab report` raises it again
            text = one_line(error) or type(error).__name__
            print(
                f"dislab: warning: the page of the run was not written: {text}; try again with: "
                f"dislab report {folder}",
                file=sys.stderr,
            )
            return
        self.written = True


def _stored(source: str | Path, module: Objective) -> Objective | None:
    """The objective from the checkpoint, as `dislab report` would load it later."""
    try:
        return load_run(source).to(module.device)
    except InputError:  # no checkpoint was saved, or a part is not installed
        return None
