"""Processes of a worker: their tasks, and how they ended."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, runtime_checkable

Outcome = Literal[
    "done", "diverged", "interrupted", "busy", "full", "crash", "memory", "exception", "input"
]
"""How a stage ended: `busy` when another process works on the run, `full` when nothing can be
written, `input` when a setting is wrong."""


class Report(NamedTuple):
    """How a process ended."""

    outcome: Outcome
    message: str = ""
    traceback: str = ""
    versions: dict[str, str] = {}  # noqa: RUF012  # replaced, never changed


class Task(NamedTuple):
    """A stage of a run that a process is to do."""

    arguments: Sequence[str]
    """Arguments of `dislab`."""
    run: Path
    """The run folder."""
    log: Path
    """Where its output goes."""
    report: Path
    """Where it writes how it ended."""


@runtime_checkable
class Unit(Protocol):
    """A process at work."""

    def wait(self, seconds: float) -> bool:
        """Waits for some seconds; returns whether it has ended."""

    def interrupt(self) -> None:
        """Asks the process to save its state and to end."""

    def kill(self) -> None:
        """Ends it at once."""

    def reports(self) -> list[Report]:
        """How each of its tasks ended, in their order."""


Start = Callable[[Sequence[Task]], Unit]
"""Starts one process: for one task of any stage, or for several of training, which it does as one
pack."""
