"""Shows the progress of a run: a bar on a terminal, otherwise lines."""

import math
import shutil
import sys
import time
from datetime import UTC, datetime
from textwrap import fill
from typing import Any, Final, Literal, final, get_args

import lightning.pytorch as pl
import torch
from lightning.pytorch.utilities import rank_zero_info
from tqdm import tqdm

from dislab.base import DataModule, Objective, is_vector
from dislab.base.datamodule import split_text
from dislab.base.inference import lacks
from dislab.base.trainer_counters import logs_now
from dislab.callbacks._trainer import is_rehearsal, run_folder
from dislab.functional.checks import check_choice, check_count
from dislab.naming.builders import versions
from dislab.runs.curves import term_name
from dislab.runs.records import processor
from dislab.storage import WIDTH, duration, text_table

_EARLY: Final = 20.0
"""Seconds after which a long run prints its first line."""

Show = Literal["auto", "bar", "lines", "nothing"]
"""Form of the progress display: `auto` is a bar on a terminal and lines elsewhere."""

_LINES: Final = 100
"""Number of lines per run, unless their interval is set."""
_OF_BOUNDS: Final = ("reconstruction", "kl")
"""Terms of a loss that the table of bounds shows too."""
_UNKNOWN: Final = 1000
"""Interval between lines, in steps, for a run of unknown length."""


@final
class Progress(pl.Callback):
    """Prints the start of training, its progress, and the losses of `test` and `validate`.

    The first lines name the method, its parameters, data, device and run folder. On a terminal a
    bar follows, with the steps, the loss and the remaining time. Elsewhere, as in the log file of
    a batch job, a line follows every `steps` optimiser steps. Everything goes to standard error.
    The loss is that of the latest row of the log, so that no step waits for the device; the
    remaining time is estimated from the mean rate of this process, including validations.

    Checkpoints get date, seconds and hardware of training, which the page of the run shows.

    Args:
        show: `bar`, `lines` or `nothing`; `auto` is a bar on a terminal, and lines elsewhere.
        steps: Minimum number of optimiser steps between two lines; null for a hundredth of the run,
            or 1,000 if its length is unknown. Lines appear only together with a row of the log
            (`trainer.log_every_n_steps`).

    Raises:
        InputError: `show` is another word, or `steps` is below 1.
    """

    def __init__(self, show: Show = "auto", steps: int | None = None) -> None:
        check_choice("progress.show", show, get_args(Show))
        if steps is not None:
            check_count("progress.steps", steps, 1)
        self.show: Show = show
        self.steps = steps
        self.changes = ""
        """What differs from the configuration that the run started from; set by the command."""
        self.method = ""
        """Name of the method; set by the command."""
        self.other_regularizers = ""
        """Which regularizers are not those of the method; set by the command."""
        self._bar: tqdm[Any] | None = None
        self._began: float | None = None
        self._before = 0.0
        self._hardware = ""
        self._first = self._last = 0
        self._total: int | None = None
        self._loss = ""

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Prints a summary of the training setup, and opens the bar."""
        folder = None if is_rehearsal(trainer) else run_folder(trainer)  # every process asks
        self._first = self._last = trainer.global_step
        self._began, self._total, self._loss = time.monotonic(), _total(trainer), ""
        self._hardware = _hardware(trainer)
        display = self._display(trainer)
        if display == "nothing":
            return
        rows = _headline(trainer, pl_module, self._first, self._total)
        rows |= {"run": str(folder) if folder else "", "settings": self.changes}
        lines = text_table((f"  {name}", text) for name, text in rows.items() if text)
        rank_zero_info("\n".join([f"Training {_method(pl_module, self.method)}", *lines]))
        if display == "bar":
            self._open("training", self._total, self._first, " steps")

    def on_train_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        """Updates the bar, or prints a line if one is due."""
        display = self._display(trainer)
        if display == "nothing":
            return
        logs = logs_now(trainer)
        interval: int = trainer.log_every_n_steps  # type: ignore[attr-defined]  # set by name
        step = trainer.global_step
        if self._bar is not None:
            if logs and (loss := _loss(trainer)):
                self._bar.set_postfix_str(f"loss {loss}", refresh=False)
            self._bar.update(step - self._bar.n)
        elif (logs or not interval) and self._is_due(step, trainer):
            self._last = step
            rank_zero_info(self._line(step, _loss(trainer) if logs else "", trainer))

    def state_dict(self) -> dict[str, Any]:
        """Date, seconds with those before a resume, hardware, versions, other regularizers."""
        if self._began is None:
            return {}
        return {
            "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            "seconds": round(self._before + self._seconds(), 1),
            "hardware": self._hardware,
            "versions": versions(),
            "other_regularizers": self.other_regularizers,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes the seconds of training before a resume, and what its regularizers were."""
        self._before = state_dict.get("seconds", 0.0)
        before = state_dict.get("other_regularizers", "")
        self.other_regularizers = self.other_regularizers or before

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Closes the bar, and prints the training time."""
        self._close()
        steps, seconds = trainer.global_step - self._first, self._seconds()
        if self._display(trainer) != "nothing" and steps:
            rank_zero_info(
                f"Trained {steps:,} steps in {duration(seconds)} ({_rate(steps, seconds)})"
            )

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
    ) -> None:
        """Closes the bar."""
        self._close()

    def on_test_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Opens the bar over batches of the test split."""
        self._open_batches(trainer, "test", trainer.num_test_batches)

    def on_test_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Moves the bar."""
        self._advance()

    def on_test_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Prints the losses of the test split."""
        self._close()
        self._print_losses(trainer)

    def on_validation_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Opens the bar over batches of the validation split, except during training."""
        if trainer.state.fn == "validate":
            self._open_batches(trainer, "validation", trainer.num_val_batches)

    def on_validation_batch_end(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Moves the bar."""
        if trainer.state.fn == "validate":
            self._advance()

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Prints the losses of the validation split, except during training."""
        if trainer.state.fn == "validate":
            self._close()
            self._print_losses(trainer)

    def _display(self, trainer: pl.Trainer) -> Show:
        """The form of display in the first process; `nothing` in the others."""
        if not trainer.is_global_zero:
            return "nothing"
        if self.show == "auto":
            return "bar" if sys.stderr.isatty() else "lines"
        return self.show

    def _seconds(self) -> float:
        """Seconds that this process has trained."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    def _is_due(self, step: int, trainer: pl.Trainer) -> bool:
        """Whether a line is due: after so many steps, and once early, for the time that is left."""
        is_early = self.steps is None and self._last == self._first and self._seconds() > _EARLY
        return step - self._last >= self._every(trainer) or is_early

    def _every(self, trainer: pl.Trainer) -> int:
        """Interval between lines, in steps."""
        if self.steps is not None:
            return self.steps
        return _UNKNOWN if self._total is None else max(1, (self._total - self._first) // _LINES)

    def _line(self, step: int, loss: str, trainer: pl.Trainer) -> str:
        """A line of progress."""
        done, seconds = step - self._first, self._seconds()
        parts = [f"step {step:,}" + ("" if self._total is None else f" of {self._total:,}")]
        parts += [f"loss {loss}"] if loss else []
        parts.append(_rate(done, seconds))
        if self._total is not None:
            remaining = (self._total - step) * seconds / max(done, 1)
            parts.append(f"{tqdm.format_interval(int(remaining))} left")
        return ", ".join(parts)

    def _print_losses(self, trainer: pl.Trainer) -> None:
        split = "test" if trainer.state.fn == "test" else "validation"
        values = {
            name.removeprefix(f"{split}/"): float(value)
            for name, value in trainer.callback_metrics.items()
            if name.startswith(f"{split}/")
        }
        if not values or self._display(trainer) == "nothing":
            return
        objective = values.pop("objective", None)
        if _shows_bounds(trainer):
            values = {k: v for k, v in values.items() if term_name(k) not in _OF_BOUNDS}
        total = [_sum(values.pop("loss"), objective)] if "loss" in values else []
        terms = ", ".join(f"{term_name(name)} {value:.5g}" for name, value in values.items())
        text = "; ".join([*total, terms] if terms else total)
        rank_zero_info(fill(f"{split} split: {text}", WIDTH, subsequent_indent="  "))

    def _open_batches(self, trainer: pl.Trainer, name: str, batches: Any) -> None:
        if self._display(trainer) == "bar":
            total = sum(batches)
            self._open(name, int(total) if math.isfinite(total) else None, 0, " batches")

    def _open(self, name: str, total: int | None, first: int, unit: str) -> None:
        width = shutil.get_terminal_size().columns  # tqdm treats an unknown width as zero
        self._bar = tqdm(
            desc=name, total=total, initial=first, unit=unit, ncols=width, file=sys.stderr
        )

    def _advance(self) -> None:
        if self._bar is not None:
            self._bar.update()

    def _close(self) -> None:
        bar, self._bar = self._bar, None
        if bar is not None:
            bar.close()


def _sum(loss: float, objective: float | None) -> str:
    """The loss, as the sum of the objective and auxiliary losses where it has both.

    >>> _sum(5.0, 5.0), _sum(5.0, 4.5)
    ('loss 5', 'loss 5 = objective 4.5 + auxiliary losses 0.5')
    """
    if objective is None or objective == loss:
        return f"loss {loss:.5g}"
    auxiliary = f"auxiliary losses {loss - objective:.5g}"
    return f"loss {loss:.5g} = objective {objective:.5g} + {auxiliary}"


def _headline(
    trainer: pl.Trainer, module: pl.LightningModule, first: int, total: int | None
) -> dict[str, str]:
    """Parameters, data, device with precision, and steps, by name; empty ones are not known."""
    images = split = ""
    data = getattr(trainer, "datamodule", None)
    if isinstance(data, DataModule) and isinstance(module, Objective):
        sizes = data.image_shape[:1] if is_vector(data.image_shape) else data.image_shape
        shape, noun = "×".join(map(str, sizes)), "images" if sizes[1:] else "vectors"
        images = f"{type(data.dataset).__name__}, {noun} of {shape}"
        split = split_text(data)
    device = trainer.strategy.root_device
    several = f"{trainer.world_size} processes on " if trainer.world_size > 1 else ""
    return {
        "parameters": f"{sum(parameter.numel() for parameter in module.parameters()):,}",
        "data": images,
        "split": split,
        "device": f"{several}{device}, precision {trainer.precision}",
        "steps": "" if total is None else f"{first:,} to {total:,}",
    }


def _hardware(trainer: pl.Trainer) -> str:
    """Name and number of the devices of training: graphics cards, or the processor."""
    device, count = trainer.strategy.root_device, trainer.world_size
    if device.type != "cuda":
        return processor()
    name = torch.cuda.get_device_name(device)
    return f"{count} × {name}" if count > 1 else name


def _method(module: pl.LightningModule, name: str) -> str:
    """The name of a method, with its class and regularisers, which make a VAE a FactorVAE."""
    parts = getattr(module, "regularizers", None) or {}
    names = " and ".join(type(part).__name__ for part in parts.values())
    objective = type(module).__name__
    described = f"{objective} with {names}" if names else objective
    says_no_more = name in ("", objective) or name.startswith(f"{objective} with ")
    return described if says_no_more else f"{name}: {described}"


def _total(trainer: pl.Trainer) -> int | None:
    """Optimiser step at which training ends; None if only time or a signal ends it."""
    limits = [trainer.max_steps] if trainer.max_steps >= 0 else []
    epochs, batches = trainer.max_epochs, trainer.num_training_batches
    counts_batches = trainer.lightning_module.automatic_optimization  # else several steps a batch
    if counts_batches and epochs is not None and epochs >= 0 and math.isfinite(batches):
        limits.append(epochs * math.ceil(batches / trainer.accumulate_grad_batches))
    return min(limits, default=None)


def _shows_bounds(trainer: pl.Trainer) -> bool:
    """Whether a table of bounds follows, which has some terms of the loss on other images."""
    module, callbacks = trainer.lightning_module, trainer.callbacks  # type: ignore[attr-defined]
    return (
        any(getattr(callback, "bound_points", 0) for callback in callbacks)
        and isinstance(module, Objective)
        and not (lacks(module, "encode") or lacks(module, "pixel_loss"))
    )


def _loss(trainer: pl.Trainer) -> str:
    """Loss of the log row being written; empty if there is none."""
    value = trainer.callback_metrics.get("train/loss")
    return "" if value is None else f"{float(value):.5g}"


def _rate(steps: int, seconds: float) -> str:
    return f"{steps / max(seconds, 1e-9):.3g} steps/s"
