"""Last lines of a training command: locations of results, and useful next commands."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from dislab.report import PAGE
from dislab.runs import SCORES


def closing(folder: Path, page: bool, steps: int | None = None) -> str:
    """Locations of the results of a run, one per line, and useful next commands.

    Args:
        folder: The run folder.
        page: Whether its page was written by this command.
        steps: Optimiser steps of the training that has just ended; None after other commands.
    """
    return "\n".join(f"{name:<9} {text}" for name, text in _rows(folder, page, steps))


def _rows(folder: Path, page: bool, steps: int | None) -> Iterator[tuple[str, str]]:
    run = shlex.quote(str(folder))
    yield "run", str(folder)
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
