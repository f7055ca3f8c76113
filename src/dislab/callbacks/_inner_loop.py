"""Lightning's loop over training batches, with steps that it takes no part in."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, cast

import torch
from lightning.pytorch import Callback
from lightning.pytorch.loops.fetchers import _DataFetcher
from lightning.pytorch.loops.training_epoch_loop import _TrainingEpochLoop
from lightning.pytorch.plugins.precision import Precision
from lightning.pytorch.strategies import SingleDeviceStrategy
from torch import Tensor

from dislab.base import Objective

_KEPT: Final = ("on_before_backward", "on_after_backward", "on_before_optimizer_step")
"""Hooks that callbacks get in every step."""

_ADDITIONS: Final = (
    "backward",
    "on_before_backward",
    "on_after_backward",
    "optimizer_zero_grad",
    "optimizer_step",
)
"""Hooks of an objective that are called in every step when it has any of its own."""


class InnerLoop(_TrainingEpochLoop):
    """Goes through the uneventful steps by itself and hands the others to Lightning.

    Uneventful is a step after which nothing is due: no row of the log, checkpoint, validation or
    end. It makes the same forward and backward pass and the same update; the counters that
    Lightning logs, saves and resumes by go on with every step.

    Args:
        loop: The loop whose place it takes, with all that it holds by then.
        steps: Every how many optimiser steps Lightning takes part at least.
    """

    def __init__(self, loop: _TrainingEpochLoop, steps: int) -> None:
        super().__init__(loop.trainer, loop.min_steps, loop.max_steps)
        self.__dict__.update(loop.__dict__)  # the data of validation are attached to it already
        self.steps = steps

    def advance(self, data_fetcher: _DataFetcher) -> None:
        """Trains to the next step that something is due after.

        Args:
            data_fetcher: Hands out the batches.
        """
        if self._can_count(data_fetcher):
            count = int(min(self._uneventful(data_fetcher)))
            with self._alone():
                update = self._update_plainly if self._is_plain() else self._update
                for _ in range(count):
                    self._advance_alone(data_fetcher, update)
        super().advance(data_fetcher)

    def _can_count(self, data_fetcher: _DataFetcher) -> bool:
        """Whether a batch is a step, and the last one of the epoch is known."""
        trainer = self.trainer
        return not (
            self.restarting
            or data_fetcher.length is None
            or trainer.accumulate_grad_batches > 1
            or trainer.strategy.handles_gradient_accumulation
            or not trainer.lightning_module.automatic_optimization
        )

    def _uneventful(self, data_fetcher: _DataFetcher) -> Iterator[int | float]:
        """How many steps each of Lightning's duties leaves before the one that it follows."""
        trainer, batches = self.trainer, self.batch_progress
        yield _before(self.global_step, self.steps)
        yield _before(self._batches_that_stepped, trainer.log_every_n_steps)
        for callback in trainer.checkpoint_callbacks:
            yield _before(self.global_step, getattr(callback, "_every_n_train_steps", 0))
        if trainer.enable_validation:
            # by the epoch's batches, or by all where no number of epochs is set
            yield _before(batches.current.ready, trainer.val_check_batch)
            yield _before(batches.total.ready, trainer.val_check_batch)
        yield min(trainer.num_training_batches, data_fetcher.length) - batches.current.ready - 1
        if self.max_steps >= 0:
            yield self.max_steps - self.global_step - 1

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Leaves out the callbacks that no part of a step between is for."""
        trainer, module = self.trainer, self.trainer.lightning_module
        callbacks: Any = trainer
        everyone = trainer.callbacks
        callbacks.callbacks = [one for one in everyone if _follows_gradients(one)]
        module._current_fx_name = "training_step"  # where a step may log
        try:
            yield
        finally:
            callbacks.callbacks = everyone
            module._current_fx_name = None

    def _is_plain(self) -> bool:
        """Whether neither precision, strategy, callbacks nor objective add to an update."""
        trainer, method = self.trainer, type(self.trainer.lightning_module)
        return (
            type(trainer.precision_plugin) is Precision
            and type(trainer.strategy) is SingleDeviceStrategy
            and not trainer.callbacks
            and all(getattr(method, name) is getattr(Objective, name) for name in _ADDITIONS)
        )

    def _advance_alone(
        self, data_fetcher: _DataFetcher, update: Callable[[Any, int], None]
    ) -> None:
        """The parts of Lightning's `advance` and `on_advance_end` that a step cannot go without."""
        trainer, progress = self.trainer, self.batch_progress
        batch, _, _ = next(data_fetcher)
        batch = trainer.precision_plugin.convert_input(batch)
        batch = trainer.lightning_module._on_before_batch_transfer(batch, dataloader_idx=0)
        batch = trainer.strategy.batch_to_device(batch, dataloader_idx=0)
        progress.increment_ready()
        progress.increment_started()
        counted = self.automatic_optimization.optim_progress.optimizer
        counted.step.increment_ready()
        counted.zero_grad.increment_ready()
        counted.zero_grad.increment_started()
        update(batch, self.batch_idx)
        counted.zero_grad.increment_completed()
        counted.step.increment_completed()
        progress.increment_processed()
        self.update_lr_schedulers("step", update_plateau_schedulers=False)
        progress.increment_completed()
        self.update_lr_schedulers("step", update_plateau_schedulers=True)
        self._batches_that_stepped += 1

    def _update(self, batch: Any, number: int) -> None:
        """One optimiser step, with what precision and strategy add to it."""
        trainer, module = self.trainer, self.trainer.lightning_module
        strategy, optimizer, epoch = trainer.strategy, trainer.optimizers[0], trainer.current_epoch

        def closure() -> Tensor:
            loss: Any = strategy.training_step(batch, number)
            module.optimizer_zero_grad(epoch, number, optimizer)
            scaled: Tensor = strategy.backward(loss, optimizer)
            return scaled.detach()

        module.optimizer_step(epoch, number, strategy._lightning_optimizers[0], closure)

    def _update_plainly(self, batch: Any, number: int) -> None:
        """The same where they add nothing."""
        trainer, optimizer = self.trainer, self.trainer.optimizers[0]
        module = cast("Objective", trainer.lightning_module)
        loss = module.training_step(batch, number)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        module.on_before_optimizer_step(optimizer)
        module.configure_gradient_clipping(
            optimizer, trainer.gradient_clip_val, trainer.gradient_clip_algorithm
        )
        optimizer.step()
        module.steps.add_(1)


def _follows_gradients(callback: Callback) -> bool:
    """Whether a callback looks at every backward pass or update."""
    return any(getattr(type(callback), name) is not getattr(Callback, name) for name in _KEPT)


def _before(done: int, every: int | float | None) -> int | float:
    """Steps before the one after which their number is a multiple of `every`."""
    if not every or every == math.inf:
        return math.inf
    return every - 1 - done % every
