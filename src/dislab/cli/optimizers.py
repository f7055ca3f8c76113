"""Checks the settings of a model's optimiser and schedule before a run folder is created."""

import warnings
from typing import Any, Final

from dislab.base import Objective
from dislab.errors import InputError

_OF_THE_TRAINER: Final = ("configure_model", "configure_optimizers")
"""Hooks that may need the trainer: models that override them are not checked."""


def check_optimizer(model: Objective) -> None:
    """Builds optimiser and schedule of a copy as a check, and takes one step of the schedule."""
    if any(getattr(type(model), name) is not getattr(Objective, name) for name in _OF_THE_TRAINER):
        return
    optimizers: Any = model.configure_optimizers()
    if not isinstance(optimizers, dict):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns, as no optimiser step precedes
            optimizers["lr_scheduler"]["scheduler"].step()
    except (ValueError, TypeError, ArithmeticError) as error:
        raise InputError(
            f"the scheduler fails at its first step: {error}; change its settings"
        ) from error
