"""The table of logged values of a run, `metrics.csv`."""

import csv
import errno
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from lightning.pytorch.loggers.logger import Logger
from lightning.pytorch.utilities import rank_zero_only, rank_zero_warn
from torch import Tensor

from dislab.storage import atomic, remove_leftovers

CURVES: Final = "metrics.csv"


def term_name(term: str) -> str:
    """A logged term of the loss in words: `kl/kl` is kl, `tc/discriminator_loss` both words.

    >>> term_name("kl/kl"), term_name("tc/discriminator_loss")
    ('kl', 'tc discriminator loss')
    """
    part, _, name = term.partition("/")
    return part if name in ("", part) else f"{part} {name}".replace("/", " ").replace("_", " ")


Row = dict[str, str]
"""Cell texts of a row by column, without empty cells."""


class Curves(Logger):
    """Appends each row of logged values to `metrics.csv` at once, so that a kill loses no row.

    The file is never truncated in place: for a new column or a resumed run, a new file is written
    and atomically replaces the old one. Nothing is written or removed before the first row.

    Rows of the test split have no epoch, as Lightning's count would differ: one more right after
    training, none if a finished run is resumed.

    A step has one row per set of columns. The first one is kept, and a row with more columns
    replaces the row that it extends; repeated values add no row. So the rows of a step can be
    written before the checkpoint of that step, and again by Lightning after it.

    Args:
        folder: The run folder.
        first_step: Rows from this step on, which an earlier process wrote after the checkpoint, are
            dropped when the first new row is written.
    """

    def __init__(self, folder: Path, first_step: int = 0) -> None:
        super().__init__()
        self._path = folder / CURVES
        self._first_step = first_step
        self._columns: list[str] | None = None
        self._rows: list[Row] = []
        """The rows of the latest step."""

    @property
    def name(self) -> str:
        """Empty, as the run folder has the name."""
        return ""

    @property
    def version(self) -> str:
        """Empty, as the run folder has the name."""
        return ""

    @property
    def save_dir(self) -> str:
        """The run folder."""
        return str(self._path.parent)

    @property
    def log_dir(self) -> str:
        """The run folder."""
        return self.save_dir

    @rank_zero_only
    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Does nothing, as config.yaml has the settings."""

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Writes a row.

        Args:
            metrics: Scalars by name.
            step: Number of optimiser steps completed before the logged one.
        """
        if step is None:
            step = int(self._rows[-1]["step"]) + 1 if self._rows else self._first_step
        row = {name: _text(value) for name, value in sorted({**metrics, "step": step}.items())}
        if any(name.startswith("test/") for name in row):
            row.pop("epoch", None)
        if self._columns is None:
            self._open()
        if self._rows and self._rows[0]["step"] != row["step"]:
            is_earlier = int(row["step"]) < int(self._rows[0]["step"])  # of a scored checkpoint
            self._rows = self._rows_of(row["step"]) if is_earlier else []
        subsets = [earlier for earlier in self._rows if earlier.keys() <= row.keys()]
        if any(earlier.keys() == row.keys() for earlier in subsets):
            return
        self._rows = [*(earlier for earlier in self._rows if earlier not in subsets), row]
        if subsets:
            self._replace(subsets, row)
        elif row.keys() <= set(self._columns or ()):
            self._append(row)
        else:
            self._write([*self._read(), row])

    @rank_zero_only
    def sync(self) -> None:
        """Waits until the rows are on disk, before a checkpoint is written."""
        if self._columns is not None:
            with self._path.open("rb") as file:
                os.fsync(file.fileno())

    def _open(self) -> None:
        """Reads the rows of an earlier process, and keeps those before the checkpoint."""
        remove_leftovers(self._path)
        read = read_curves(self._path)
        past = [row for row in read.rows if int(row["step"]) < self._first_step]
        if read.damage:
            aside = _aside(self._path)
            os.replace(self._path, aside)
            rank_zero_warn(
                f"{self._path} {read.damage}; it is kept as {aside.name}, and its "
                f"{len(past)} whole rows before step {self._first_step} go on in a new file"
            )
        self._columns = []
        if past:
            self._rows = [row for row in past if row["step"] == past[-1]["step"]]
        if past != read.rows or read.torn or read.damage:
            self._write(past)
        else:
            self._columns = read.columns

    def _read(self) -> list[Row]:
        return read_curves(self._path).rows

    def _rows_of(self, step: str) -> list[Row]:
        return [row for row in self._read() if row["step"] == step]

    def _append(self, row: Row) -> None:
        line = _lines(self._columns or [], [row]).encode()
        with self._path.open("ab", buffering=0) as file:
            if file.write(line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))

    def _replace(self, old: list[Row], new: Row) -> None:
        """Replaces old rows by the new row that contains them."""
        self._write([*(row for row in self._read() if row not in old), new])

    def _write(self, rows: list[Row]) -> None:
        """Replaces the file."""
        columns = sorted({*(self._columns or ()), *(name for row in rows for name in row)})
        with atomic(self._path) as temporary:
            header = _lines(columns, [dict(zip(columns, columns, strict=True))])
            temporary.write_text(header + _lines(columns, rows), encoding="utf-8", newline="")
        self._columns = columns


class Table(NamedTuple):
    """Content of a `metrics.csv`.

    Attributes:
        columns: Names of the columns, in the file's order.
        rows: The whole rows, in the file's order.
        torn: Whether the file ends in an incomplete row, as after a full disk.
        damage: Description of other damage; empty if there is none.
    """

    columns: list[str]
    rows: list[Row]
    torn: bool = False
    damage: str = ""


def read_curves(path: Path) -> Table:
    """Reads a `metrics.csv`: no rows if it is missing, the readable rows if it is damaged."""
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return Table([], [])
    except (UnicodeDecodeError, OSError) as error:
        return Table([], [], damage=f"cannot be read ({error})")
    complete, _, tail = text.rpartition("\n")
    try:
        lines = list(csv.reader(io.StringIO(complete)))
    except csv.Error as error:
        return Table([], [], damage=f"is no table of logged values ({error})")
    if not lines:
        return Table([], [], torn=bool(tail))
    columns = lines[0]
    if "step" not in columns or len(set(columns)) < len(columns):
        return Table([], [], damage="is no table of logged values: it has no column 'step'")
    rows = [_cells(columns, line) for line in lines[1:]]
    whole_rows = [row for row in rows if row is not None]
    wrong = len(rows) - len(whole_rows)
    damage = f"has {wrong} rows that are none of logged values" if wrong else ""
    return Table(columns, whole_rows, bool(tail), damage)


def _cells(columns: list[str], line: list[str]) -> Row | None:
    """Cells of a line; None if they do not form a valid row."""
    if len(line) != len(columns):
        return None
    row = {name: cell for name, cell in zip(columns, line, strict=True) if cell}
    try:
        numbers = {name: float(cell) for name, cell in row.items()}
    except ValueError:
        return None
    step = numbers.get("step", -1.0)
    if not (step >= 0 and step.is_integer()):
        return None
    return row | {"step": str(int(step))}


def _text(value: Any) -> str:
    return str(value.item() if isinstance(value, Tensor) else value)


def _lines(columns: list[str], rows: list[Row]) -> str:
    text = io.StringIO()
    csv.DictWriter(text, columns, restval="", lineterminator="\n").writerows(rows)
    return text.getvalue()


def _aside(path: Path) -> Path:
    """An unused path in the same folder, to keep the old file."""
    count = 0
    while (free := path.with_name(f"{path.stem}_damaged_{count}{path.suffix}")).exists():
        count += 1
    return free
