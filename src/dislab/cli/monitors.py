"""Checks that training logs what callbacks monitor."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, final

import lightning.pytorch as pl

from dislab.base import DataModule
from dislab.callbacks import Checkpoints
from dislab.cli.checks import several
from dislab.errors import InputError, suggestion
from dislab.runs import last_checkpoint

_VALIDATION: Final = "validation/"

_STAGES: Final = ("train/", _VALIDATION)

_CURVES: Final = "curves/"
"""Prefix of the names of scores during training."""

_COUNTERS: Final = ("epoch", "step")
"""Names that every callback can monitor without a log."""


def check_monitors(config: Mapping[str, Any]) -> None:
    """Rejects monitored names that training cannot log.

    Names of any form are accepted if the model or a callback is of another distribution, which may
    log them.

    Args:
        config: The settings of a training command.

    Raises:
        InputError: A name has none of the usual prefixes, or is a score during training without
            `score_curves.steps`; the message names the setting.
    """
    callbacks = several(config["trainer"].get("callbacks"))
    classes = [config["model"]["class_path"], *(callback["class_path"] for callback in callbacks)]
    foreign = any(path.partition(".")[0] not in ("dislab", "lightning") for path in classes)
    for callback in callbacks:
        if callback["class_path"].endswith(".BackboneFinetuning") and not foreign:
            raise InputError(
                "BackboneFinetuning trains the part `backbone` of a model, and no method of dislab "
                "has one; leave the callback out"
            )
    monitors = [("checkpoint.monitor", config["checkpoint"].get("monitor"))]
    for callback in callbacks:
        settings = callback.get("init_args") or {}
        if settings.get("strict", True):
            name = callback["class_path"].rpartition(".")[2]
            monitors.append((f"{name}.monitor", settings.get("monitor")))
    for setting, name in monitors:
        if not isinstance(name, str) or name in _COUNTERS or name.startswith(_STAGES):
            continue
        if name.startswith(_CURVES):
            if not config["score_curves"]["steps"]:
                raise InputError(
                    f"{setting} is {name!r}, and score_curves.steps is 0, so that no scores are "
                    "taken during training; set score_curves.steps to the steps between two"
                )
        elif not foreign:
            raise InputError(_unusual(setting, name))


@final
class KnownMonitors(pl.Callback):
    """Stops training with an error if nothing is logged under a name that a callback monitors.

    The terms of a loss are known after the first evaluated batch: before the first step if
    Lightning does a sanity check, otherwise after the first validation. The state of training at
    that time is saved.

    Args:
        callbacks: The callbacks of the trainer.
    """

    def __init__(self, callbacks: Iterable[pl.Callback]) -> None:
        self.monitors = list(_monitors_of(callbacks))

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Checks that there is a validation if one is monitored."""
        data = getattr(trainer, "datamodule", None)
        if not isinstance(data, DataModule) or stage != "fit":
            return
        if trainer.limit_val_batches == 0:
            reason = "trainer.limit_val_batches is 0"
        elif not len(data.indices("validation")):
            reason = "the validation split is empty"
        else:
            return
        for setting, name in self.monitors:
            if name.startswith(_VALIDATION):
                raise InputError(
                    f"{setting} is {name!r}, and {reason}; validate, or monitor train/loss"
                )

    def on_sanity_check_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Checks the names logged by the sanity check."""
        self._check(trainer)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Checks the names logged by the validation."""
        if not trainer.sanity_checking:
            self._check(trainer)

    def _check(self, trainer: pl.Trainer) -> None:
        logged = {
            name.removeprefix(stage)
            for name in trainer.callback_metrics
            for stage in _STAGES
            if name.startswith(stage)
        }
        names = sorted(stage + term for stage in _STAGES for term in logged)
        curves = [name for name in trainer.callback_metrics if name.startswith(_CURVES)]
        names += curves
        for setting, name in self.monitors:
            if not names or name in (*names, *trainer.callback_metrics, *_COUNTERS):
                continue
            if not curves if name.startswith(_CURVES) else self._may_come(trainer, name):
                continue
            if trainer.global_step and (path := last_checkpoint(trainer)) is not None:
                trainer.save_checkpoint(path, weights_only=False)
            hint = suggestion(name, names, _shortened(names))
            raise InputError(
                f"{setting} is {name!r}, which nothing logs{hint}; choose one of {', '.join(names)}"
            )

    def _may_come(self, trainer: pl.Trainer, name: str) -> bool:
        """Whether a callback of another distribution may log the name after the sanity check."""
        return trainer.sanity_checking and not name.startswith(_STAGES)


def _monitors_of(callbacks: Iterable[pl.Callback]) -> Iterator[tuple[str, str]]:
    """Setting and monitored name of each callback that needs the name to be logged."""
    for callback in callbacks:
        name = getattr(callback, "monitor", None)
        if isinstance(name, str) and getattr(callback, "strict", True):
            section = "checkpoint" if isinstance(callback, Checkpoints) else type(callback).__name__
            yield f"{section}.monitor", name


def _shortened(names: Iterable[str]) -> dict[str, str]:
    """Logged names by what other programs call them: `val/loss` for `validation/loss`."""
    return {name.replace("validation", "val"): name for name in names if "validation" in name}


def _unusual(setting: str, name: str) -> str:
    names = [stage + term for stage in _STAGES for term in ("loss", "reconstruction", "objective")]
    hint = suggestion(name, names, _shortened(names))
    return (
        f"{setting} is {name!r}{hint}; it must be a name that training and its "
        "validation log, such as train/loss and validation/loss, or a score during training, such "
        "as curves/mig, with score_curves.steps"
    )
