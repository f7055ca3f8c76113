"""Saves checkpoints during training, and recognises errors of restoring one."""

import traceback
from typing import Any, Final, final

import lightning.pytorch as pl
from lightning.pytorch.callbacks import ModelCheckpoint, StochasticWeightAveraging
from torch import Tensor

from dislab.training.step_end import (
    advance_plateaus,
    count_epoch_as_begun,
    plateau_scores,
    validation_follows,
    write_row,
)

_RESTORING: Final = "lightning.pytorch.trainer.connectors.checkpoint_connector"

_PLATEAUS: Final = "plateau_schedules"
"""Key in a checkpoint: the last epoch whose schedules have advanced, and the scores they follow."""


@final
class Checkpoints(ModelCheckpoint):
    """Saves the state of training after all other files of the step are written.

    The logged values of the step are written first and, if a validation is due, its values and
    pictures too. So a run that is killed at any moment and resumed has all rows and pictures of an
    uninterrupted one. The step that reaches `max_steps` is saved like any other, so that a longer
    run can continue from it. All settings are those of Lightning's `ModelCheckpoint`.
    """

    last_step = -1
    """Optimiser steps of the state in `last.ckpt`; -1 before the first save."""

    _first_step = 0
    _plateaus: dict[str, Any] = {}  # noqa: RUF012  # replaced, never changed
    _in_batch = False
    _waiting: frozenset[str] = frozenset()

    @property
    def state_key(self) -> str:
        """The key of Lightning's class, so that states of both are interchangeable."""
        return super().state_key.replace(type(self).__qualname__, ModelCheckpoint.__qualname__, 1)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Notes the step from which training goes on; readies averages of weights in mid-epoch."""
        self._first_step = trainer.global_step
        if trainer.fit_loop.restarted_mid_epoch:  # Lightning calls this hook in whole epochs only
            for callback in trainer.callbacks:  # type: ignore[attr-defined]  # set by name
                if isinstance(callback, StochasticWeightAveraging):
                    callback.on_train_epoch_start(trainer, pl_module)
        super().on_train_start(trainer, pl_module)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Saves the last state, unless a resumed run had no step left."""
        if trainer.global_step > self._first_step:
            super().on_train_end(trainer, pl_module)

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Saves if a checkpoint is due, unless a validation comes first."""
        self._in_batch = True
        super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)
        is_last = trainer.global_step == trainer.max_steps != self.last_step
        if is_last and not self._should_skip_saving_checkpoint(trainer):
            self._save_last_checkpoint(trainer, self._monitor_candidates(trainer))
        self._in_batch = False

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Saves if a checkpoint is due, after all schedules of the epoch."""
        if trainer.fit_loop.restarting and self._plateaus.get("epoch") != trainer.current_epoch:
            advance_plateaus(trainer, self._plateaus.get("scores", {}))
        self._plateaus = {"epoch": trainer.current_epoch}
        count_epoch_as_begun(trainer)
        super().on_train_epoch_end(trainer, pl_module)

    def on_save_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Adds what schedules that follow a score need at the end of a resumed epoch."""
        if scores := plateau_scores(trainer):
            checkpoint[_PLATEAUS] = {"epoch": self._plateaus.get("epoch"), "scores": scores}

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Takes what `on_save_checkpoint` added."""
        self._plateaus = checkpoint.get(_PLATEAUS, {})

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Saves the checkpoint that was postponed until after the validation."""
        waiting, self._waiting = self._waiting, frozenset()
        if waiting and not self._should_skip_saving_checkpoint(trainer):
            candidates = self._monitor_candidates(trainer)
            if "best" in waiting:
                self._save_topk_checkpoint(trainer, candidates)
            if "last" in waiting:
                self._save_last_checkpoint(trainer, candidates)
        super().on_validation_end(trainer, pl_module)

    def _save_topk_checkpoint(self, trainer: pl.Trainer, monitor_candidates: Any) -> None:
        if not self._waits(trainer, "best"):
            super()._save_topk_checkpoint(trainer, monitor_candidates)

    def _save_last_checkpoint(
        self, trainer: pl.Trainer, monitor_candidates: dict[str, Tensor]
    ) -> None:
        if self.save_last and not self._waits(trainer, "last"):
            super()._save_last_checkpoint(trainer, monitor_candidates)
            self.last_step = trainer.global_step

    def _waits(self, trainer: pl.Trainer, kind: str) -> bool:
        """Whether to postpone a save until after validation; otherwise writes the metrics row."""
        if not self._in_batch:
            return False
        if validation_follows(trainer):
            self._waiting |= {kind}
            return True
        write_row(trainer)
        return False


def arose_while_restoring(error: Exception) -> bool:
    """Whether an error arose while Lightning restored a checkpoint."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(str(frame.f_globals.get("__name__")) == _RESTORING for frame in frames)
