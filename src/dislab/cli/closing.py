"""Last lines of a training command: locations of results, and useful next commands."""

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import EarlyStopping, Timer

from dislab.report import PAGE
from dislab.runs import SCORES, Best


def closing(
    folder: Path, page: bool, steps: int | None = None, outcome: Iterable[tuple[str, str]] = ()
) -> str:
    """Locations of the results of a run, one per line, and useful next commands.

    Args:
        folder: The run folder.
        page: Whether its page was written by this command.
        steps: Optimiser steps of the training that has just ended; None after other commands.
        outcome: Rows that `outcome` returned.
    """
    rows = _rows(folder, page, steps, outcome)
    return "\n".join(f"{name:<9} {text}" for name, text in rows)


def outcome(trainer: Trainer, best: Best | None) -> tuple[tuple[str, str], ...]:
    """Rows on why training ended and, with a monitor, on its best checkpoint.

    Args:
        trainer: The trainer at the end of `fit`.
        best: The checkpoint that a monitor chose.
    """
    rows = [("ended", f"step {trainer.global_step}: {_reason(trainer)}")]
    if best is not None:
        text = f"{best.path} ({best.monitor} {best.score:.5g}), which all commands read unless "
        rows.append(("best", text + "--checkpoint last is given"))
    for callback in trainer.checkpoint_callbacks:
        if best is None and (monitor := getattr(callback, "monitor", None)):
            text = "none kept, as checkpoint.save_top_k is 0 or nothing was saved yet"
            rows.append(("best", f"{text} ({monitor})"))
    return tuple(rows)


def _reason(trainer: Trainer) -> str:
    """Why training ended."""
    callbacks = trainer.callbacks  # type: ignore[attr-defined]  # set by name
    for callback in callbacks:
        if isinstance(callback, Timer) and (callback.time_remaining() or 1) <= 0:
            return "trainer.max_time is over"
    if trainer.should_stop:
        for callback in callbacks:
            text = getattr(callback, "stopping_reason_message", None)
            if isinstance(callback, EarlyStopping) and text:
                return f"EarlyStopping: {text.removesuffix(' Signaling Trainer to stop.')}"
        return "a callback stopped it"
    if trainer.global_step >= trainer.max_steps >= 0:
        return "trainer.max_steps is reached"
    return "trainer.max_epochs is reached"


def _rows(
    folder: Path, page: bool, steps: int | None, outcome: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    run = shlex.quote(str(folder))
    yield "run", str(folder)
    yield from outcome
    for name, file in (("scores", SCORES), ("pictures", "images"), ("log", "metrics.csv")):
        if (folder / file).exists():
            yield name, str(folder / file)
    if page:
        yield "page", f"{folder / PAGE} (open it in a browser)"
    if any(folder.glob("events.out.tfevents.*")):
        yield "curves", f"tensorboard --logdir {run}"
    if steps:
        yield "next", f"dislab encode {run}   # its codes as arrays"
        yield "", f"dislab fit --resume {run} --trainer.max_steps {2 * steps}   # train longer"
