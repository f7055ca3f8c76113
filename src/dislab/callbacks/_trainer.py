"""What the callbacks ask of a trainer and of an objective."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import lightning.pytorch as pl
import torch

from dislab.base import DataModule, Objective
from dislab.errors import InputError


def run_folder(trainer: pl.Trainer) -> Path:
    """The folder of the run; every process must ask.

    Args:
        trainer: The trainer at work.
    """
    return Path(trainer.log_dir or trainer.default_root_dir)


def objective_of(module: pl.LightningModule, who: str) -> Objective:
    """The module, once known as an objective.

    Args:
        module: What the trainer runs.
        who: The callback that asks, for the message.

    Raises:
        InputError: It is none.
    """
    if not isinstance(module, Objective):
        raise InputError(f"{who} needs an Objective, not {type(module).__name__}")
    return module


def data_of(trainer: pl.Trainer, who: str) -> DataModule:
    """The data module that the trainer runs on.

    Args:
        trainer: The trainer at work.
        who: The callback that asks, for the message.

    Raises:
        InputError: There is none, or it is no data module of this kind.
    """
    data = getattr(trainer, "datamodule", None)
    if not isinstance(data, DataModule):
        given = "data loaders" if data is None else type(data).__name__
        raise InputError(
            f"{who} draws images of its own and needs a DataModule, not {given}; pass "
            "datamodule=… to the trainer"
        )
    return data


def is_rehearsal(trainer: pl.Trainer) -> bool:
    """Whether the trainer only checks that code runs, and nothing should be written."""
    return bool(trainer.sanity_checking or getattr(trainer, "fast_dev_run", False))


Capability = Literal["encode", "decode", "reconstruct", "render", "generate", "code_values"]
"""A method of an objective that a class may go without."""


def lacks(module: Objective, capability: Capability) -> bool:
    """Whether a class leaves a capability as the base class has it.

    Args:
        module: The objective.
        capability: The method that would give it.
    """
    return getattr(type(module), capability) is getattr(Objective, capability)


@contextmanager
def evaluating(trainer: pl.Trainer, module: Objective) -> Iterator[None]:
    """Evaluation mode, the trainer's precision and no gradients; the modes are put back after.

    Args:
        trainer: The trainer at work.
        module: The objective.
    """
    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        with torch.inference_mode(), trainer.precision_plugin.forward_context():
            yield
    finally:
        for part, mode in modes.items():
            part.training = mode
