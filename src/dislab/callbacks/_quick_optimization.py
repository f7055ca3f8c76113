"""An optimiser step in Lightning's loop that takes the short way where there is one."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from lightning.pytorch.loops.optimization.automatic import _AutomaticOptimization
from torch import Tensor
from torch.optim import Optimizer

from dislab.callbacks._plain_step import PlainStep


class QuickOptimization(_AutomaticOptimization):
    """Makes the optimiser steps of Lightning's loop without closures and hooks that nobody has.

    Args:
        optimization: Whose place it takes, with its counters.
    """

    def __init__(self, optimization: _AutomaticOptimization) -> None:
        super().__init__(optimization.trainer)
        self.__dict__.update(optimization.__dict__)
        self.plain: PlainStep | None = None
        """The short way; None where something adds to a step."""

    def run(
        self, optimizer: Optimizer, batch_idx: int, kwargs: "OrderedDict[str, Any]"
    ) -> dict[str, Any]:
        """Makes an optimiser step, or accumulates gradients for one, and returns the loss.

        Args:
            optimizer: The optimiser.
            batch_idx: Number of the batch in its epoch.
            kwargs: What the objective's `training_step` gets.
        """
        module = self.trainer.lightning_module
        if self.plain is None or self._skip_backward or self.trainer.accumulate_grad_batches > 1:
            return super().run(optimizer, batch_idx, kwargs)
        before, module._current_fx_name = module._current_fx_name, "training_step"  # it may log
        try:
            return {"loss": self.counted(self.plain.update, kwargs["batch"], batch_idx)}
        finally:
            module._current_fx_name = before

    def counted(self, update: Callable[[Any, int], Tensor], batch: Any, number: int) -> Tensor:
        """An optimiser step with Lightning's counters moved around it; returns the loss.

        Args:
            update: Makes the step.
            batch: What the objective receives.
            number: Number of the batch in its epoch.
        """
        counted = self.optim_progress.optimizer
        counted.step.increment_ready()
        counted.zero_grad.increment_ready()
        counted.zero_grad.increment_started()
        loss = update(batch, number)
        counted.zero_grad.increment_completed()
        counted.step.increment_completed()
        return loss
