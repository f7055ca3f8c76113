"""Ends training between two steps on Ctrl-C, SIGTERM or SIGHUP."""

import signal
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, Final, final

import lightning.pytorch as pl
from lightning.pytorch.utilities import rank_zero_info

from dislab.runs import last_checkpoint
from dislab.signals import Handlers, give_back, handle, interrupt, leave_closed_terminal
from dislab.training.inner_loop import installed
from dislab.training.step_end import log_step, validation_follows

_STEPS_BETWEEN_TALKS: Final = 10
"""Interval, in steps, of exchanging signals among processes; each exchange waits for the device."""


@final
class StopOnSignal(pl.Callback):
    """Ends training after the current optimiser step when Ctrl-C, SIGTERM or SIGHUP arrives.

    A checkpoint is written first, after a validation if one is due. Written between two steps, it
    holds a state that an uninterrupted run also reaches, so that the resumed run gives the same
    results; a checkpoint from the middle of a step, as in an exception hook, would not. A second
    signal ends the process at once, as does the first one outside training, for example in the
    final scoring.
    """

    def __init__(self) -> None:
        self.received: int | None = None  # kept after training if no step was left to stop at
        self._previous: Handlers = {}
        self._step = 0
        self._talk = 0
        self._leaves = False

    def on_sanity_check_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Installs the signal handler; Lightning's own would wait for other processes."""
        self._take(interrupt)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Installs the signal handler, unless the validation is part of training."""
        if trainer.state.fn == "validate":
            self._take(interrupt)

    def on_test_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Installs the signal handler."""
        self._take(interrupt)

    def on_predict_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Installs the signal handler."""
        self._take(interrupt)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Installs the signal handler, which Python allows only in the main thread."""
        self.received = None
        self._leaves = False
        self._step = trainer.global_step
        self._talk = self._step // _STEPS_BETWEEN_TALKS
        self._take(partial(self._receive, trainer))

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Writes the checkpoint and stops at the end of a step."""
        complete, self._step = trainer.global_step > self._step, trainer.global_step
        if complete and self._is_to_stop(trainer):
            self._leaves = True
            if not validation_follows(trainer):
                # Lightning logs a step only after this hook, and the resumed run would skip it
                log_step(trainer)
                for callback in trainer.checkpoint_callbacks:  # which come after this callback
                    callback.on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)
                self._leave(trainer)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stops after the validation of the last step."""
        if self._leaves:
            for callback in trainer.checkpoint_callbacks:
                callback.on_validation_end(trainer, pl_module)
            self._leave(trainer)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Makes later signals end the process at once; shares a signal that came too late."""
        self._take(interrupt)
        came = self.received is not None
        if trainer.strategy.reduce_boolean_decision(came, all=False) and not came:
            self.received = signal.SIGINT  # in another process

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Restores the previous signal handlers."""
        self._give_back()

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Restores the previous signal handlers."""
        self._give_back()

    def _leave(self, trainer: pl.Trainer) -> None:
        """Saves the state and ends training."""
        if (path := last_checkpoint(trainer)) is not None:
            trainer.save_checkpoint(path, weights_only=False)
        raise KeyboardInterrupt

    def _receive(self, trainer: pl.Trainer, signum: int, frame: FrameType | None) -> None:
        if self.received is not None:
            self._give_back()
            raise KeyboardInterrupt
        self.received = signum
        # all processes must stop at the same step, which they agree on only in Lightning's steps
        if (loop := installed(trainer)) is not None and trainer.world_size == 1:
            loop.is_wanted = True
        leave_closed_terminal()
        rank_zero_info(
            f"\n{signal.Signals(signum).name}: stopping after this step; once more to stop at once"
        )

    def _is_to_stop(self, trainer: pl.Trainer) -> bool:
        """Whether any process received a signal, so that all stop at the same step."""
        if trainer.world_size == 1:
            return self.received is not None
        talk, self._talk = self._talk, trainer.global_step // _STEPS_BETWEEN_TALKS
        if self._talk == talk:
            return False
        return bool(trainer.strategy.reduce_boolean_decision(self.received is not None, all=False))

    def _take(self, handler: Callable[[int, FrameType | None], None]) -> None:
        self._previous = handle(handler) | self._previous  # the oldest handlers are restored

    def _give_back(self) -> None:
        give_back(self._previous)
        self._previous = {}
