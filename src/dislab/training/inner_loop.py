"""Lightning's loop over training batches, with inner steps that bypass Lightning."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, cast

import lightning.pytorch as pl
from lightning.pytorch import Callback
from lightning.pytorch.loops.fetchers import _DataFetcher
from lightning.pytorch.loops.training_epoch_loop import _TrainingEpochLoop
from lightning.pytorch.profilers import PassThroughProfiler
from lightning.pytorch.trainer.call import _call_lightning_module_hook, _call_strategy_hook
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor

from dislab.base import Objective
from dislab.training.captured_step import CapturedStep, obstacle_to_capture
from dislab.training.plain_step import PlainStep, is_plain

_OF_GRADIENTS: Final = ("on_before_backward", "on_after_backward", "on_before_optimizer_step")
"""Callback hooks that Lightning calls in every step."""

_OF_A_BATCH: Final = ("on_train_batch_start", "on_train_batch_end")
"""If the objective overrides one of these hooks, Lightning makes every step."""

_KNOWN: Final = (
    "lightning.pytorch.callbacks.callback",
    "lightning.pytorch.callbacks.lr_monitor",
    "lightning.pytorch.callbacks.model_checkpoint",
    "lightning.pytorch.callbacks.timer",
)
"""Lightning's callback modules that need only the steps after which something is due."""

_PATIENCE: Final = 0.2
"""Seconds after which Lightning makes a step if no number of steps is set, to update the progress
bar and keep a time limit."""


class InnerLoop(_TrainingEpochLoop):
    """Makes the uneventful steps itself and leaves the others to Lightning.

    A step is uneventful if nothing is due after it: no log row, checkpoint, validation or end of
    the run. It consists of the same forward pass, backward pass and update; the counters that
    Lightning uses for logging, saving and resuming advance with every step.

    If `is_wanted` is set, for example by a signal, Lightning makes the next step.

    Args:
        loop: The loop that it replaces, whose current state it takes over.
        steps: Largest number of optimiser steps between two steps by Lightning; None for several
            steps by Lightning per second, or for all steps if a callback may need them.
        graph: Whether the device records an uneventful step once and replays it.
    """

    def __init__(self, loop: _TrainingEpochLoop, steps: int | None, graph: bool = False) -> None:
        super().__init__(loop.trainer, loop.min_steps, loop.max_steps)
        self.__dict__.update(loop.__dict__)  # validation data are already attached to it
        self.steps = steps
        self.graph = graph
        self.captured: CapturedStep | None = None
        self.is_wanted = False
        self._noted: set[str] = set()
        self._everyone: list[Callback] | None = None
        self._of_gradients: list[Callback] = []
        self._plain: PlainStep | None = None

    def on_run_start(self, data_fetcher: _DataFetcher) -> None:
        """Begin an epoch."""
        super().on_run_start(data_fetcher)
        self._everyone = None  # the trainer may have another objective than before

    def advance(self, data_fetcher: _DataFetcher) -> None:
        """Trains up to and including the next step after which something is due."""
        if self.steps != 1 and not self.restarting:
            obstacle = self._obstacle(data_fetcher)
            if obstacle is None:
                self._advance_to_the_next_duty(data_fetcher)
            else:
                self._note(obstacle)
        super().advance(data_fetcher)

    def _advance_to_the_next_duty(self, data_fetcher: _DataFetcher) -> None:
        if self.trainer.callbacks != self._everyone:
            self._look_around()
        if self.captured is not None:
            self.captured.look_around()
        count = int(min(self._uneventful(data_fetcher)))
        with self._alone():
            self._make(data_fetcher, count)
        if self.captured is not None:
            self._note(self.captured.obstacle)

    def _look_around(self) -> None:
        """Finds the callbacks that a step needs: calling all takes longer than small networks."""
        self._everyone = list(self.trainer.callbacks)
        self._of_gradients = [
            callback for callback in self._everyone if _follows_gradients(callback)
        ]
        short = is_plain(self.trainer) and not self._of_gradients
        self._plain = PlainStep(self.trainer) if short else None
        self._look_for_a_capture()

    def _look_for_a_capture(self) -> None:
        """Keeps the captured step if it still serves, or begin one if nothing prevents it."""
        if not self.graph:
            self.captured = None
            return
        obstacle = obstacle_to_capture(self.trainer)
        for callback in self._of_gradients:
            obstacle = obstacle or f"{type(callback).__name__} looks at every update"
        self._note(obstacle)
        if obstacle is not None:
            self.captured = None
        elif self.captured is None or not self.captured.serves(self.trainer):
            eager = self._plain.update if self._plain else self._update
            self.captured = CapturedStep(self.trainer, eager)

    def _note(self, obstacle: str | None) -> None:
        """Reports once why steps are not captured although requested."""
        if self.graph and obstacle is not None and obstacle not in self._noted:
            self._noted.add(obstacle)
            rank_zero_info(f"inner_steps.graph: steps are not captured: {obstacle}")

    def _obstacle(self, data_fetcher: _DataFetcher) -> str | None:
        """Reason why Lightning must make every step; None if inner steps are possible."""
        trainer, method = self.trainer, type(self.trainer.lightning_module)
        if data_fetcher.length is None:
            return "the number of batches is unknown"
        if trainer.accumulate_grad_batches > 1 or trainer.strategy.handles_gradient_accumulation:
            return "gradients are accumulated over batches"
        if not trainer.lightning_module.automatic_optimization:
            return f"{method.__name__} makes its updates itself"
        overridden = [
            hook for hook in _OF_A_BATCH if getattr(method, hook) is not getattr(Objective, hook)
        ]
        if overridden:
            return f"{method.__name__} has its own {overridden[0]}"
        return obstacle_to_choosing(trainer) if self.steps is None else None

    def _uneventful(self, data_fetcher: _DataFetcher) -> Iterator[int | float]:
        """For each duty of Lightning, the number of steps before the step after which it is due."""
        trainer, batches = self.trainer, self.batch_progress
        yield _before(self.global_step, self.steps)
        yield _before(self._batches_that_stepped, trainer.log_every_n_steps)
        for callback in self._everyone or ():  # checkpoints and score curves
            yield _before(self.global_step, getattr(callback, "_every_n_train_steps", 0))
        if trainer.enable_validation:
            # counted over the epoch's batches, or over all batches if no number of epochs is set
            yield _before(batches.current.ready, trainer.val_check_batch)
            yield _before(batches.total.ready, trainer.val_check_batch)
        yield min(trainer.num_training_batches, data_fetcher.length) - batches.current.ready - 1
        if self.max_steps >= 0:
            yield self.max_steps - self.global_step - 1

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Without callbacks that do not concern inner steps."""
        trainer, module = cast("Any", self.trainer), self.trainer.lightning_module
        everyone, trainer.callbacks = trainer.callbacks, self._of_gradients
        before, module._current_fx_name = module._current_fx_name, "training_step"  # allows logging
        try:
            yield
        finally:
            trainer.callbacks = everyone
            module._current_fx_name = before

    def _make(self, data_fetcher: _DataFetcher, count: int) -> None:
        """Does the needed parts of Lightning's `advance` `count` times, or until `is_wanted`."""
        end = time.monotonic() + (_PATIENCE if self.steps is None else math.inf)
        short = self.captured or self._plain
        update: Callable[[Any, int], None] = short.update if short else self._update
        for _ in range(count):
            if self.is_wanted or time.monotonic() > end:
                return
            batch = self._begin(data_fetcher)
            update(batch, self.batch_idx)
            self._end()

    def _begin(self, data_fetcher: _DataFetcher) -> Any:
        """Returns the next batch as input of the step, and counts the step as begun."""
        short = self.captured or self._plain
        receive: Callable[[Any], Any] = short.receive if short else self._receive
        batch = receive(next(data_fetcher)[0])
        progress = self.batch_progress
        counted = self.automatic_optimization.optim_progress.optimizer
        progress.increment_ready()
        progress.increment_started()
        counted.step.increment_ready()
        counted.zero_grad.increment_ready()
        counted.zero_grad.increment_started()
        return batch

    def _end(self) -> None:
        """Count the step as done, and advance the learning-rate schedules."""
        progress, follows = self.batch_progress, self.trainer.lr_scheduler_configs
        results: Any = self.trainer._results
        results.batch = results.batch_size = None  # frees the batch before the next one is made
        counted = self.automatic_optimization.optim_progress.optimizer
        counted.zero_grad.increment_completed()
        counted.step.increment_completed()
        progress.increment_processed()
        if follows:
            self.update_lr_schedulers("step", update_plateau_schedulers=False)
        progress.increment_completed()
        if follows:
            self.update_lr_schedulers("step", update_plateau_schedulers=True)
        self._batches_that_stepped += 1

    def _receive(self, batch: Any) -> Any:
        """The batch as the objective receives it."""
        trainer = self.trainer
        batch = trainer.precision_plugin.convert_input(batch)
        batch = trainer.lightning_module._on_before_batch_transfer(batch, dataloader_idx=0)
        return trainer.strategy.batch_to_device(batch, dataloader_idx=0)

    def _update(self, batch: Any, index: int) -> None:
        """One optimiser step, with the additions of precision, strategy and objective."""
        trainer = self.trainer
        trainer._logger_connector.on_batch_start(batch)
        strategy, optimizer, epoch = trainer.strategy, trainer.optimizers[0], trainer.current_epoch

        def closure() -> Tensor:
            loss: Any = _call_strategy_hook(trainer, "training_step", batch, index)
            _call_lightning_module_hook(trainer, "on_before_zero_grad", optimizer)
            _call_lightning_module_hook(trainer, "optimizer_zero_grad", epoch, index, optimizer)
            scaled: Tensor = _call_strategy_hook(trainer, "backward", loss, optimizer)
            return scaled.detach()

        wrapped = strategy._lightning_optimizers[0]
        _call_lightning_module_hook(trainer, "optimizer_step", epoch, index, wrapped, closure)


def _follows_gradients(callback: Callback) -> bool:
    """Whether a callback has hooks for backward passes or updates."""
    return any(
        getattr(getattr(callback, name), "__func__", None) is not getattr(Callback, name)
        for name in _OF_GRADIENTS
    )


def obstacle_to_choosing(trainer: pl.Trainer) -> str | None:
    """What may need every step, so that inner steps must be set explicitly; None if nothing."""
    inside: Any = trainer
    if trainer.world_size > 1:  # clocks differ, but processes must agree
        return "several processes train"
    if type(inside.profiler) is not PassThroughProfiler:
        return "a profiler follows every step"
    for callback in inside.callbacks:
        if _follows_batches(callback):
            return f"the callback {type(callback).__name__} follows every step"
    return None


def _follows_batches(callback: Callback) -> bool:
    """Whether a callback has its own hook for every batch and may need it."""
    for name in (*_OF_A_BATCH, "on_before_zero_grad"):
        hook = getattr(callback, name)
        module = str(getattr(getattr(hook, "__func__", hook), "__module__", ""))
        if module.partition(".")[0] != "dislab" and module not in _KNOWN:
            return True
    return False


def _before(done: int, every: int | float | None) -> int | float:
    """Number of steps before the step that makes their count a multiple of `every`."""
    if not every or every == math.inf:
        return math.inf
    return every - 1 - done % every


def installed(trainer: pl.Trainer) -> InnerLoop | None:
    """The trainer's loop with inner steps, if it has one."""
    loop = trainer.fit_loop.epoch_loop
    return loop if isinstance(loop, InnerLoop) else None


def install(trainer: pl.Trainer, steps: int | None, graph: bool = False) -> None:
    """Replaces the trainer's loop by one with inner steps; arguments are those of `InnerLoop`."""
    trainer.fit_loop.epoch_loop = InnerLoop(trainer.fit_loop.epoch_loop, steps, graph)
