"""A training step that bypasses Lightning's indirections."""

import inspect
from typing import Any, Final, cast

import lightning.pytorch as pl
import torch
from lightning.pytorch.plugins.precision import Precision
from lightning.pytorch.strategies import SingleDeviceStrategy
from lightning.pytorch.trainer.call import _call_lightning_module_hook
from torch.optim import Optimizer

from dislab.base import Objective

_ADDITIONS: Final = (
    "training_step",
    "backward",
    "on_before_zero_grad",
    "on_before_backward",
    "on_after_backward",
    "optimizer_zero_grad",
    "optimizer_step",
)
"""Methods of an objective that Lightning must call if the objective overrides them."""

AFTER_BACKWARD: Final = ("on_before_optimizer_step", "configure_gradient_clipping")
"""Methods of an objective that may change gradients or make decisions on the host before an
update."""


def is_plain(trainer: pl.Trainer) -> bool:
    """Whether a step has no additions by precision, strategy, optimiser or objective."""
    return (
        type(trainer.precision_plugin) is Precision
        and type(trainer.strategy) is SingleDeviceStrategy
        and not _evaluates_by_itself(trainer.optimizers[0])
        and addition_of(trainer.lightning_module) is None
    )


def addition_of(module: pl.LightningModule, others: tuple[str, ...] = ()) -> str | None:
    """The first overridden method that adds to a step, also among `others`; None if none does."""
    for name in (*_ADDITIONS, *others):
        if getattr(type(module), name) is not getattr(Objective, name):
            return name
    return None


class Arrival:
    """Moves a batch from its loader to the objective.

    Args:
        trainer: The running trainer, whose precision does not change batches.
    """

    def __init__(self, trainer: pl.Trainer) -> None:
        self._device = trainer.strategy.root_device
        selector: Any = trainer._data_connector._datahook_selector
        # bound methods of the data module or of the objective, which Lightning selects at every
        # call
        self._before, self._transfer, self._after = (
            getattr(selector.get_instance(name), name)
            for name in (
                "on_before_batch_transfer",
                "transfer_batch_to_device",
                "on_after_batch_transfer",
            )
        )

    def moved(self, batch: Any) -> Any:
        """The batch on the run's device, not yet gathered and converted."""
        return self._transfer(self._before(batch, 0), self._device, 0)

    def ready(self, batch: Any) -> Any:
        """Converts a batch on the device to the form that the objective receives."""
        return self._after(batch, 0)


class PlainStep:
    """A training step without additions.

    Args:
        trainer: The running trainer, for which `is_plain` is true.
    """

    def __init__(self, trainer: pl.Trainer) -> None:
        self._trainer = trainer
        self._module = cast("Objective", trainer.lightning_module)
        self._arrival = Arrival(trainer)
        self._has_hooks = addition_of(trainer.lightning_module, AFTER_BACKWARD) is not None

    def receive(self, batch: Any) -> Any:
        """The batch as the objective receives it."""
        return self._arrival.ready(self._arrival.moved(batch))

    def update(self, batch: Any, index: int) -> None:
        """Makes one optimiser step."""
        trainer, module = self._trainer, self._module
        optimizer = trainer.optimizers[0]
        trainer._logger_connector.on_batch_start(batch)  # the batch size weighs means over an epoch
        loss = module.training_step(batch, index)
        drop_gradients(optimizer)
        torch.autograd.backward(loss)
        self._after_backward(optimizer)
        optimizer.step()
        module.steps.add_(1)

    def _after_backward(self, optimizer: Optimizer) -> None:
        trainer = self._trainer
        limit: dict[str, Any] = {
            "gradient_clip_val": trainer.gradient_clip_val,
            "gradient_clip_algorithm": trainer.gradient_clip_algorithm,
        }
        if self._has_hooks:  # hooks may log, each under its own name
            _call_lightning_module_hook(trainer, "on_before_optimizer_step", optimizer)
            _call_lightning_module_hook(trainer, "configure_gradient_clipping", optimizer, **limit)
        else:
            self._module.configure_gradient_clipping(optimizer, **limit)


def _evaluates_by_itself(optimizer: Optimizer) -> bool:
    """Whether the optimiser evaluates the loss itself, as L-BFGS does."""
    closure = inspect.signature(type(optimizer).step).parameters.get("closure")
    return closure is not None and closure.default is inspect.Parameter.empty


def drop_gradients(optimizer: Optimizer) -> None:
    """Sets gradients to None without `zero_grad`'s profiling, which takes ten times as long."""
    if type(optimizer).zero_grad is not Optimizer.zero_grad:
        optimizer.zero_grad()
        return
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None
