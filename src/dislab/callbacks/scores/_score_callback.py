"""Base class of score callbacks: decides when to score and where to write the results."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import lightning.pytorch as pl
import torch
from lightning.pytorch.utilities import rank_zero_info

from dislab import runs
from dislab.base import DataModule, Objective
from dislab.callbacks._trainer import (
    data_of,
    is_rehearsal,
    objective_of,
    results_folder,
    run_folder,
)
from dislab.report.run_record import images_of

Stages: TypeAlias = Mapping[Literal["validate", "test"], runs.ScoreStage]
"""Key in `scores.json` for each command that scores."""


class Scored(NamedTuple):
    """Results of one scoring.

    Attributes:
        record: Contents for `scores.json`, the scalars under `scores`.
        logged: Scalars for the loggers, by name.
        text: Lines for the terminal; empty for none.
    """

    record: dict[str, Any]
    logged: dict[str, float]
    text: str


class ScoreCallback(pl.Callback, ABC):
    """Scores an objective at the end of `validate` and `test`, in the first process.

    The record goes to `scores.json` of the run folder, the scalars to the loggers, a table to the
    terminal. Training and rehearsals (`fast_dev_run`) score nothing.
    """

    stages: ClassVar[Stages]

    @abstractmethod
    def applies(self, trainer: pl.Trainer, module: Objective) -> bool:
        """Whether the callback has anything to score for this objective."""

    @abstractmethod
    def score(
        self, trainer: pl.Trainer, data: DataModule, module: Objective, folder: Path
    ) -> Scored | None:
        """Results, or None if the data module is unsuitable; `folder` is the run folder."""

    def task(self, data: DataModule, module: Objective) -> str:
        """Description of work that takes long, for a line before it; empty for no line."""
        return ""

    def scored_images(self, data: DataModule) -> str:
        """The images that will be scored, as `images_of` their record; empty if not known."""
        return ""

    def plot(self, trainer: pl.Trainer, data: DataModule, module: Objective, folder: Path) -> None:
        """Draws the recorded results into the run folder; draws nothing by default."""

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Scores, except after validations during training."""
        if trainer.state.fn == "validate":
            self._run(trainer, pl_module, "validate")

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Scores."""
        self._run(trainer, pl_module, "test")

    def _run(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        command: Literal["validate", "test"],
    ) -> None:
        name, stage = type(self).__name__, self.stages.get(command)
        if stage is None or is_rehearsal(trainer):
            return
        module = objective_of(pl_module, name)
        if not self.applies(trainer, module):
            return
        data, folder = data_of(trainer, name), run_folder(trainer)
        if task := self.task(data, module):
            rank_zero_info(f"Scoring {task} …")
        if trainer.is_global_zero:
            origin = runs.origin(module, data, trainer.ckpt_path)
            earlier = _recorded(results_folder(trainer, folder, stage, origin), stage)
            if earlier and earlier != (images := self.scored_images(data)) and images:
                rank_zero_info(f"These scores will replace those of {earlier}")
            # the trainer runs its loops in inference mode; a score may need to fit a model
            with torch.inference_mode(False), torch.enable_grad():
                scored = self.score(trainer, data, module, folder)
            if scored is not None:
                folder = results_folder(trainer, folder, stage, scored.record)
                self._publish(trainer, module, folder, stage, scored)
                self.plot(trainer, data, module, folder)
        trainer.strategy.barrier(name)

    def _publish(
        self,
        trainer: pl.Trainer,
        module: Objective,
        folder: Path,
        stage: runs.ScoreStage,
        scored: Scored,
    ) -> None:
        runs.write_scores(folder, stage, scored.record)
        for logger in trainer.loggers if scored.logged else ():
            logger.log_metrics(scored.logged, step=int(module.steps))
            logger.save()
        if scored.text:
            print(f"\n{scored.text}")


def _recorded(folder: Path, stage: runs.ScoreStage) -> str:
    """The images of the scores that a folder has of a stage; empty without any."""
    records = runs.read_scores(folder) if (folder / runs.SCORES).is_file() else {}
    return images_of(records.get(stage, {}))
