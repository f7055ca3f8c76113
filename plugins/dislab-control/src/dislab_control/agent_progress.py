"""Returns and losses during training, as a table and as TensorBoard curves."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Final, final

from torch.utils.tensorboard import SummaryWriter

from dislab.errors import InputError
from dislab.storage import atomic

PROGRESS: Final = "progress.csv"
"""Name of the table in the folder of an agent."""

EVERY: Final = 1000
"""Minimum number of steps between two rows."""


@final
class Progress:
    """Writes `progress.csv`, and the same numbers to event files.

    Columns: `steps`; `return`, the mean over the last 100 episodes; then those of the algorithm.

    Args:
        folder: The folder of the agent; existing rows are kept.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / PROGRESS
        self._events = SummaryWriter(str(folder))
        self._rows: list[dict[str, float | str]] = []
        if self._path.is_file():
            text = self._path.read_text(encoding="utf-8")
            self._rows = [dict(row) for row in csv.DictReader(io.StringIO(text))]

    def forget_after(self, steps: int) -> None:
        """Removes rows of steps that will be repeated.

        Args:
            steps: Number of steps of the state from which training resumes.
        """
        self._rows = [row for row in self._rows if float(row["steps"]) <= steps]

    def note(self, steps: int, mean: float | None, logged: Mapping[str, float]) -> None:
        """Adds a row, unless the last one is less than `EVERY` steps old.

        Args:
            steps: Number of steps so far.
            mean: Mean return of the last episodes; None before the first one has ended.
            logged: Values that the algorithm logged, by name.
        """
        last = float(self._rows[-1]["steps"]) if self._rows else 0.0
        if mean is None or steps < last + EVERY:
            return
        row = {"steps": steps, "return": round(mean, 4)} | {
            name: float(f"{value:.6g}") for name, value in logged.items()
        }
        self._rows.append({name: str(value) for name, value in row.items()})
        for name, value in row.items():
            if name != "steps":
                self._events.add_scalar(name, value, steps)

    def write(self) -> None:
        """Writes the table."""
        columns = list(dict.fromkeys(name for row in self._rows for name in row))
        text = io.StringIO()
        table = csv.DictWriter(text, columns or ["steps", "return"], lineterminator="\n")
        table.writeheader()
        table.writerows(self._rows)
        with atomic(self._path) as temporary:
            temporary.write_text(text.getvalue(), encoding="utf-8")
        self._events.flush()

    def close(self) -> None:
        """Writes the table and closes the event file."""
        self.write()
        self._events.close()


def last_return(folder: Path) -> float | None:
    """Mean return of the last 100 training episodes; None before the first one has ended.

    Args:
        folder: The folder of an agent.

    Raises:
        InputError: The table is missing or damaged.
    """
    path = folder / PROGRESS
    try:
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
        return float(rows[-1]["return"]) if rows else None
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}; train the agent again") from error
