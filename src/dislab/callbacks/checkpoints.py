"""When the state of training is saved."""

from typing import Any, final

import lightning.pytorch as pl
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor

from dislab.callbacks._step_end import validation_follows, write_row


@final
class Checkpoints(ModelCheckpoint):
    """Saves the state of training after all that its step leaves in the run folder.

    The values that the step logs are written first, and where a validation is due, its values and
    pictures too. So a run that is killed at any moment and goes on has every row and picture of an
    undisturbed one. All settings are those of Lightning's `ModelCheckpoint`.
    """

    _in_batch = False
    _is_due = False

    @property
    def state_key(self) -> str:
        """The key of Lightning's class, so that states of both are exchangeable."""
        return super().state_key.replace(type(self).__qualname__, ModelCheckpoint.__qualname__, 1)

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Saves if it is time, unless a validation comes first."""
        self._in_batch = True
        super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)
        self._in_batch = False

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Saves what waited for the validation."""
        is_due, self._is_due = self._is_due, False
        if is_due and not self._should_skip_saving_checkpoint(trainer):
            candidates = self._monitor_candidates(trainer)
            self._save_topk_checkpoint(trainer, candidates)
            self._save_last_checkpoint(trainer, candidates)
        super().on_validation_end(trainer, pl_module)

    def _save_topk_checkpoint(self, trainer: pl.Trainer, monitor_candidates: Any) -> None:
        if not self._waits(trainer):
            super()._save_topk_checkpoint(trainer, monitor_candidates)

    def _save_last_checkpoint(
        self, trainer: pl.Trainer, monitor_candidates: dict[str, Tensor]
    ) -> None:
        if not self._waits(trainer):
            super()._save_last_checkpoint(trainer, monitor_candidates)

    def _waits(self, trainer: pl.Trainer) -> bool:
        """Whether a state at the end of a batch is saved later; if not, its row comes first."""
        if not self._in_batch:
            return False
        if validation_follows(trainer):
            self._is_due = True
        else:
            write_row(trainer)
        return self._is_due
