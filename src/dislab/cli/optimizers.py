"""Whether a model's optimiser and schedule take their settings, before a run folder is made."""

import warnings
from typing import Any, Final

from dislab.base import Objective
from dislab.errors import InputError

_OF_THE_TRAINER: Final = ("configure_model", "configure_optimizers")
"""Hooks that may need the trainer: a model that overrides them is not checked without it."""


def check_optimizer(model: Objective) -> None:
    """Build optimiser and schedule of a copy once as a check, and take one step of the schedule."""
    if any(getattr(type(model), name) is not getattr(Objective, name) for name in _OF_THE_TRAINER):
        return
    made: Any = model.configure_optimizers()
    if not isinstance(made, dict):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no optimiser step goes before
            made["lr_scheduler"]["scheduler"].step()
    except (ValueError, TypeError, ArithmeticError) as error:
        raise InputError(
            f"the scheduler fails at its first step: {error}; change its settings"
        ) from error
