"""Checks the settings of trainer, checkpoints and optimiser before a run folder is created."""

import functools
import inspect
import math
import os
import re
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

import lightning.pytorch as pl
import torch
from jsonargparse import Namespace
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.accelerators import AcceleratorRegistry
from lightning.pytorch.callbacks import Timer

from dislab.base import DataModule, Objective
from dislab.errors import InputError, one_line, suggestion

_LARGEST: Final = 2**31 - 1
"""Largest allowed count; larger ones are typing errors, and some cause an overflow."""

_MOST_DEVICES: Final = 4096
"""Largest allowed number of processes; larger ones are typing errors and could fill the memory."""

_LONGEST: Final = 60
"""Characters of the name of a method."""
_LEAST: Final = {
    "num_nodes": 1,
    "max_epochs": -1,
    "min_epochs": 0,
    "max_steps": -1,
    "min_steps": 0,
    "check_val_every_n_epoch": 1,
    "num_sanity_val_steps": -1,
    "log_every_n_steps": 0,
    "accumulate_grad_batches": 1,
    "reload_dataloaders_every_n_epochs": 0,
    "fast_dev_run": 0,
}
"""Smallest allowed value of each count of the trainer."""

_LEAST_OF_CHECKPOINTS: Final = {"save_top_k": -1, "every_n_train_steps": 0, "every_n_epochs": 0}

_SHARES: Final = (
    "limit_train_batches",
    "limit_val_batches",
    "limit_test_batches",
    "limit_predict_batches",
    "overfit_batches",
    "val_check_interval",
)
"""Settings that are a number of batches if integers, and a share from 0 to 1 if floats."""

_PATH: Final = re.compile(r"(\.|_)(dir|dirpath|directory|folder|location|path)$")
"""Names of settings that hold a path, also if it looks like a name."""

_INTERVALS: Final = (int, float, str, timedelta)
"""Types of `val_check_interval`: batches, a share of an epoch, a time."""


def check_method(method: str | None) -> None:
    """Rejects a name of a method that does not fit into a table."""
    if method is not None and not (method.isprintable() and 0 < len(method.strip()) <= _LONGEST):
        raise InputError(
            f"method is {method!r:.80}; name it in one line of 1 to {_LONGEST} characters, such as "
            "FactorVAE"
        )


def check_trainer_settings(
    trainer: Mapping[str, Any], checkpoint: Mapping[str, Any], is_new: bool
) -> None:
    """Rejects settings that would make Lightning fail or hang, or that it would silently ignore.

    Args:
        trainer: Settings of the trainer by name.
        checkpoint: Settings of `ModelCheckpoint` by name.
        is_new: Whether they are of a new run; one of an earlier version, or of a machine with a
            card, keeps its precision, in whose place Lightning takes another one.

    Raises:
        InputError: A setting is out of range or cannot work on this machine; the message names it.
    """
    for name, value in trainer.items():
        if value is None and name in _never_null():
            raise InputError(
                f"trainer.{name} is null, which is no value of it; leave it out for the usual one"
            )
    for section, settings, least in (
        ("trainer", trainer, _LEAST),
        ("checkpoint", checkpoint, _LEAST_OF_CHECKPOINTS),
    ):
        for name, smallest in least.items():
            _check_count(f"{section}.{name}", settings.get(name), smallest)
    for name in _SHARES:
        _check_share(name, trainer.get(name))
    interval = trainer.get("val_check_interval")
    if interval is not None and not isinstance(interval, _INTERVALS):
        raise InputError(
            f"trainer.val_check_interval is {interval!r}; it must be a whole number of batches, a "
            'share of an epoch, or a time such as "00:10:00"'
        )
    check_time(trainer.get("max_time"))
    clip = trainer.get("gradient_clip_val")
    if clip is not None and not 0 <= clip < math.inf:
        raise InputError(
            f"trainer.gradient_clip_val is {clip}; it must be a finite number of at least 0, and "
            "null or 0 clips nothing"
        )
    _check_machine(trainer)
    if is_new:
        _check_precision(trainer)
    _check_folder("trainer.default_root_dir", trainer.get("default_root_dir"))
    _check_folder("checkpoint.dirpath", checkpoint.get("dirpath"))


def paths_outside(config: Any, folder: Path | None) -> Iterator[tuple[str, str]]:
    """Settings by which training would write outside a run folder, and their values.

    These are settings of the trainer, its callbacks, loggers and profilers, and of checkpoints that
    hold a path; and the folder of all runs, in which W&B and MLflow keep their files.

    Args:
        config: The settings of a training command, as returned by its parser.
        folder: The run folder; if None, every path lies outside.
    """
    root, keeps_files = config["runs"], config["logger"] in ("wandb", "mlflow")
    if keeps_files and root != "runs" and not _is_inside(folder, Path(root)):
        yield "runs", root
    for section in ("trainer", "checkpoint"):
        for name, value in _texts_of(config[section], section):
            path = Path(value.removeprefix("file:")).expanduser()
            is_path = _PATH.search(name) or path.is_absolute() or ".." in path.parts
            is_url = "://" in value and not value.startswith("file:")
            if is_path and not is_url and not _is_inside(path, folder):
                yield name, value


def _is_inside(path: Path | None, folder: Path | None) -> bool:
    if path is None or folder is None:
        return False
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError):  # no path has this name
        return False


def _texts_of(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Texts in settings by dotted names, but for names of classes."""
    if isinstance(value, Namespace):
        value = vars(value)
    if isinstance(value, Mapping):
        for key, setting in value.items():
            yield from () if key == "class_path" else _texts_of(setting, f"{name}.{key}")
    elif isinstance(value, list | tuple):
        for index, setting in enumerate(value):
            yield from _texts_of(setting, f"{name}.{index}")
    elif isinstance(value, str | os.PathLike):
        yield name, os.fspath(value)


def check_epoch(trainer: Mapping[str, Any], data: DataModule) -> None:
    """Rejects a validation interval that is counted within an epoch but exceeds its length.

    A data module without `epoch_steps` is accepted.
    """
    steps: int | None = getattr(data, "epoch_steps", None)
    every = trainer.get("val_check_interval")
    if steps is None or type(every) is not int or trainer.get("check_val_every_n_epoch") is None:
        return
    for name in ("limit_train_batches", "overfit_batches"):
        if limit := trainer.get(name):
            steps = min(steps, limit) if isinstance(limit, int) else int(steps * limit)
    if every > steps and trainer.get("limit_val_batches") != 0 and not trainer.get("fast_dev_run"):
        raise InputError(
            f"trainer.val_check_interval is {every}, and an epoch has {steps} batches; choose at "
            "most as many, or count across epochs with check_val_every_n_epoch: null"
        )


def several(value: Any) -> list[Any]:
    """A setting with one, several or no values as a list."""
    if not value:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _check_count(name: str, value: object, smallest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        return
    if not smallest <= value <= _LARGEST:
        raise InputError(
            f"{name} is {value}; it must be a whole number from {smallest} to {_LARGEST}"
        )


def _check_share(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    smallest = 1 if name == "val_check_interval" else 0
    if isinstance(value, int):
        _check_count(f"trainer.{name}", value, smallest)
    elif not (value > 0 if smallest else value >= 0) or not value <= 1:
        raise InputError(
            f"trainer.{name} is {value}; it must be a share {'above' if smallest else 'from'} 0 up "
            "to 1.0, or a whole number of batches"
        )


def check_time(value: Any) -> float | None:
    """The seconds of `trainer.max_time`; None for no limit.

    Args:
        value: Its value.

    Raises:
        InputError: The trainer's timer cannot parse it.
    """
    try:
        return Timer(value).time_remaining()
    except (MisconfigurationException, TypeError, ValueError) as error:
        raise InputError(
            f"trainer.max_time is {value!r}; it must be days, hours, minutes and seconds, such as "
            '"00:12:00:00", or a mapping such as {hours: 12}'
        ) from error


@functools.cache
def _never_null() -> frozenset[str]:
    """Settings of the trainer whose types do not allow null."""
    parameters = inspect.signature(pl.Trainer.__init__).parameters
    hints = get_type_hints(pl.Trainer.__init__)
    return frozenset(
        name
        for name, parameter in parameters.items()
        if parameter.default not in (None, parameter.empty)
        and type(None) not in get_args(hints.get(name))
    )


def _check_machine(trainer: Mapping[str, Any]) -> None:
    """Rejects an accelerator or a number of devices that this machine does not have."""
    kind, devices = trainer.get("accelerator", "auto"), trainer.get("devices", "auto")
    if isinstance(kind, str):
        names = ["auto", "gpu", *AcceleratorRegistry.available_accelerators()]
        if kind.lower() not in names:
            raise InputError(
                f"trainer.accelerator is {kind!r}{suggestion(kind, names)}; choose one of "
                f"{', '.join(names)}"
            )
        gpus = [name for name in ("cuda", "mps") if _is_there(name)]
        if kind.lower() != "auto" and not (
            gpus if kind.lower() == "gpu" else _is_there(kind.lower())
        ):
            raise InputError(
                f"trainer.accelerator is {kind!r}, and this machine has none that can be used, "
                f"only {_machine()}; choose auto, which takes the best that is there"
            )
    for index in _numbers(devices):
        if not -1 <= index <= _MOST_DEVICES:
            raise InputError(f"trainer.devices is {devices!r}; {_ALLOWED_DEVICES}")
    if str(devices).strip() == "0":  # a number, unlike the lists [0] and "0,"
        raise InputError(f"trainer.devices is {devices!r}; {_ALLOWED_DEVICES}")
    if _is_on_cpu(trainer) and (isinstance(devices, list) or "," in str(devices)):
        raise InputError(
            f"trainer.devices is {devices!r}; a CPU has no devices with numbers: choose how many "
            "processes share it"
        )
    if _is_on_cpu(trainer) and _numbers(devices)[:1] == [-1]:
        raise InputError(
            f"trainer.devices is {devices!r}, all of them, which a CPU has no number of; choose "
            "how many processes share it"
        )


def _is_on_cpu(trainer: Mapping[str, Any]) -> bool:
    """Whether the settings of the trainer choose the processor of this machine."""
    kind = trainer.get("accelerator", "auto")
    has_card = torch.cuda.is_available() or torch.backends.mps.is_available()
    return kind == "cpu" or (kind == "auto" and not has_card)


def _check_precision(trainer: Mapping[str, Any]) -> None:
    """Rejects a name of which Lightning warns, and float16 on a CPU, which it replaces."""
    precision, on_cpu = trainer.get("precision"), _is_on_cpu(trainer)
    allowed = "32-true, bf16-mixed or 64-true" if on_cpu else "32-true, bf16-mixed or 16-mixed"
    if str(precision) in ("16", "bf16") or (on_cpu and precision == "16-mixed"):
        why = ", which a CPU does not compute in" if on_cpu and precision != "bf16" else ""
        raise InputError(f"trainer.precision is {precision}{why}; choose {allowed}")


_ALLOWED_DEVICES: Final = (
    "it must be auto, how many (from 1, or -1 for all), or a list of the devices' numbers"
)


_CHECKED: Final = ("dislab", "lightning", "torch")
"""Packages whose errors on settings are messages for users."""

_OF_THE_MACHINE: Final = ("accelerator", "devices", "num_nodes", "strategy", "precision", "plugins")
"""Settings of the trainer that a machine may be unable to serve."""


def refused(trainer: Mapping[str, Any], error: Exception) -> InputError:
    """The error for settings that the trainer refuses, with the devices of this machine.

    Args:
        trainer: The settings of the trainer.
        error: The error that it raised.
    """
    chosen = [
        f"{name} {trainer[name]!r}"
        for name in _OF_THE_MACHINE
        if trainer.get(name) not in (None, "auto", 1)
    ]
    reason = one_line(error)
    if not chosen:
        return InputError(reason)
    return InputError(
        f"the trainer does not take {', '.join(chosen)}: {reason[:300]}; this machine has "
        f"{_machine()}"
    )


def arose_in(error: Exception, parts: Iterable[object]) -> bool:
    """Whether an error arose in the module of a part that is of another package.

    Args:
        error: The error.
        parts: Callbacks, plugins and loggers of the trainer.
    """
    modules = {type(part).__module__ for part in parts}
    foreign = {name for name in modules if name.partition(".")[0] not in _CHECKED}
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(frame.f_globals.get("__name__") in foreign for frame in frames)


def _machine() -> str:
    """The devices of this machine."""
    names = [name for name in AcceleratorRegistry.available_accelerators() if _is_there(name)]
    counts = {name: AcceleratorRegistry.get(name).auto_device_count() for name in names}
    counts["cpu"] = os.cpu_count() or 1
    return ", ".join(
        f"{name} ({count} {'cores' if name == 'cpu' else 'devices'})"
        for name, count in counts.items()
    )


def _is_there(accelerator: str) -> bool:
    try:
        return bool(AcceleratorRegistry.get(accelerator).is_available())
    except ModuleNotFoundError:  # the library for this accelerator is missing
        return False


def _numbers(devices: object) -> list[int]:
    """The device numbers in the setting `devices`."""
    if devices == "auto":
        return []
    parts: Any = devices
    if isinstance(devices, str):  # "0," is a list
        parts = [part for part in devices.split(",") if part.strip()]
    try:
        indices = [int(part) for part in (parts if isinstance(parts, list) else [parts])]
    except (TypeError, ValueError):
        indices = []
    if not indices or isinstance(devices, bool):
        raise InputError(f"trainer.devices is {devices!r}; {_ALLOWED_DEVICES}")
    return indices


def _check_folder(name: str, value: object) -> None:
    """Rejects a folder that cannot be created or written to, without creating it."""
    if value is None or "://" in str(value):
        return
    path = Path(str(value)).expanduser().absolute()
    try:
        there = next(folder for folder in (path, *path.parents) if folder.exists())
        usable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    except (OSError, ValueError):  # no read permission, too long a name, or a null character
        there, usable = path, False
    if not usable or "proc" in there.parts[1:2]:
        raise InputError(
            f"{name} is {str(value)!r}, and no files can be written there; choose a folder that "
            "you may write to, or leave it out for the run folder"
        )


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
            f"the scheduler fails at its first step: {one_line(error)}; change its settings"
        ) from error
