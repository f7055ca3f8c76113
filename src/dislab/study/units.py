"""Processes of a worker: their tasks and outcomes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, runtime_checkable

Outcome = Literal[
    "done", "diverged", "interrupted", "busy", "full", "crash", "memory", "exception", "input"
]
"""Outcome of a stage; among others, `busy` if another process works on the run, `full` if nothing
can be written, and `input` if a setting is wrong."""


class Report(NamedTuple):
    """Outcome of a process."""

    outcome: Outcome
    message: str = ""
    traceback: str = ""
    versions: dict[str, str] = {}  # noqa: RUF012  # replaced, never changed


class Task(NamedTuple):
    """A stage of a run, to be done by a process."""

    arguments: Sequence[str]
    """Arguments of `dislab`."""
    run: Path
    """The run folder."""
    log: Path
    """File for its output."""
    report: Path
    """File for its outcome."""


@runtime_checkable
class Unit(Protocol):
    """A running process."""

    def wait(self, seconds: float) -> bool:
        """Waits up to `seconds`; returns whether the process has ended."""

    def interrupt(self) -> None:
        """Asks the process to save its state and to end."""

    def kill(self) -> None:
        """Kills the process."""

    def report(self) -> Report:
        """Outcome of its task."""


Start = Callable[[Task], Unit]
"""Starts the process of a task."""


def last_message(log: Path) -> str:
    """The last line of a log with text, without the prefix of dislab's messages."""
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    line = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return line.removeprefix("dislab: ").removeprefix("error: ")
