"""Processes of a worker: what one does, and how it ended."""

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


@runtime_checkable
class Unit(Protocol):
    """A process at work."""

    def wait(self, seconds: float) -> bool:
        """Waits for some seconds; returns whether it has ended."""

    def interrupt(self) -> None:
        """Asks it to save what it has and to end."""

    def kill(self) -> None:
        """Ends it at once."""

    def report(self) -> Report:
        """How it ended."""


Start = Callable[[Sequence[str], Path, Path, Path], Unit]
"""Starts what follows `dislab`, with the run folder, the file of its output, and the file where it
reports its end."""
