"""Limits of training: which of them ended it, and whether a run may go on to a new one."""

from collections.abc import Mapping
from typing import Any, Final

import lightning.pytorch as pl
from jsonargparse import Namespace
from lightning.pytorch.callbacks import EarlyStopping, Timer
from lightning.pytorch.utilities import rank_zero_info

from dislab.cli.checks import check_time
from dislab.errors import InputError

_LIMITS: Final = ("max_steps", "max_epochs", "max_time")
_TRIAL: Final = 1000
"""Number of steps after which a longer training is twice as long."""
"""Settings of the trainer that end training."""


def check_limits(
    stored: Mapping[str, Any], settings: Namespace, before: Namespace, run: str
) -> None:
    """Notes if a run has no training left within its limits.

    Args:
        stored: Content of the checkpoint from which training goes on.
        settings: The section `trainer` of the configuration.
        before: The section `trainer` with which the run was trained.
        run: The run, for messages.

    Raises:
        InputError: The run has more steps than the limit, has reached another limit than the one
            that is changed, or a limit is no time.
    """
    steps, most = stored["global_step"], settings["max_steps"]
    if 0 <= most < steps:
        raise InputError(
            f"trainer.max_steps is {most}, and the run has {steps} steps already; all steps count, "
            f"so give more than {steps}"
        )
    if most == steps:
        rank_zero_info(
            f"{run} ended at step {steps}, its trainer.max_steps; no training is left to do. Its "
            f"scores and pictures are made again. To train on: --trainer.max_steps {_more(steps)}"
        )
        return
    for name, limit, spent in _spent(stored, settings):
        if any(settings[limited] != before[limited] for limited in _LIMITS):
            raise InputError(
                f"trainer.{name} is {limit}, and the run has trained for {spent} already, all of "
                f"which count; give more by --trainer.{name}"
            )
        rank_zero_info(
            f"{run} ended at step {steps}: it has trained for {spent}, and trainer.{name} is "
            f"{limit}; no training is left to do. Its scores and pictures are made again. To train "
            f"on, give more by --trainer.{name}"
        )


def ending(trainer: pl.Trainer) -> tuple[str, str]:
    """Why training ended, and the option that doubles the limit; empty where there is none.

    A limit of few steps, as of a trial, becomes 1,000.
    """
    callbacks = trainer.callbacks  # type: ignore[attr-defined]  # set by name
    for callback in callbacks:
        if isinstance(callback, Timer) and (callback.time_remaining() or 1) <= 0:
            twice = _clock(2 * callback.time_elapsed())
            return "trainer.max_time is over", f"--trainer.max_time {twice}"
    if trainer.should_stop:
        for callback in callbacks:
            text = getattr(callback, "stopping_reason_message", None)
            if isinstance(callback, EarlyStopping) and text:
                return f"EarlyStopping: {text.removesuffix(' Signaling Trainer to stop.')}", ""
        return "a callback stopped it", ""
    if trainer.global_step >= trainer.max_steps >= 0:
        more = _more(trainer.global_step)
        return "trainer.max_steps is reached", f"--trainer.max_steps {more}"
    return "trainer.max_epochs is reached", f"--trainer.max_epochs {2 * trainer.current_epoch}"


def _more(steps: int) -> int:
    """A limit of steps to go on to: twice as many, and 1,000 after few steps, as of a trial."""
    return max(2 * steps, _TRIAL)


def _spent(stored: Mapping[str, Any], settings: Namespace) -> list[tuple[str, str, str]]:
    """Names and values of the limits that a run has reached, and what it has spent of each."""
    reached = []
    epochs = _number_in(stored, "loops", "fit_loop", "epoch_progress", "current", "completed")
    most, limit = settings["max_epochs"], check_time(settings["max_time"])
    if most is not None and 0 <= most <= epochs:
        reached.append(("max_epochs", str(most), f"{epochs:g} epoch{'s' if epochs != 1 else ''}"))
    spent = _number_in(stored, "callbacks", "Timer", "time_elapsed", "train")
    if limit is not None and spent >= limit:
        reached.append(("max_time", _clock(limit), _clock(spent)))
    return reached


def _number_in(stored: Mapping[str, Any], *path: str) -> int | float:
    """A number inside a checkpoint; 0 if it is not there, as in a damaged one."""
    value: Any = stored
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, int | float) else 0


def _clock(time: int | float) -> str:
    """Seconds as days, hours, minutes and seconds, such as 00:12:00:00."""
    minutes, seconds = divmod(round(time), 60)
    hours, minutes = divmod(minutes, 60)
    return ":".join(f"{part:02d}" for part in (*divmod(hours, 24), minutes, seconds))
