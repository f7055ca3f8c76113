"""Tables of factor values: CSV or Parquet, one row per image, read as text and then parsed."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from dislab.datasets.own._columns import Column
from dislab.errors import InputError, suggestion
from dislab.factors import Kind

FILE: Final = "file"
"""Column with the file names of images."""

SHOWN: Final = 5
"""Maximum number of rows or files listed in a message; the rest is counted."""

_MISSING: Final = frozenset(("", "nan", "na"))
_ROW_NUMBERS: Final = re.compile(r"__index_level_\d+__")


class Row(NamedTuple):
    """One row of a table.

    Attributes:
        place: Its line in the table, for messages.
        cells: Its values as text, by column; empty if missing.
    """

    place: str
    cells: dict[str, str]


def read_table(path: Path) -> list[Row]:
    """Reads the rows of a table, all with the same columns, one of which is `file`.

    The file is Parquet if its suffix says so, else comma-separated text in UTF-8 whose first line
    names the columns. Rejects unreadable files, rows of different lengths, and missing or
    duplicate columns.
    """
    if not path.is_file():
        raise InputError(
            f"the table {path} does not exist; give the file of the factor values, its path "
            "relative to the folder of the images"
        )
    rows = _parquet(path) if path.suffix == ".parquet" else _csv(path)
    if not rows:
        raise InputError(f"{path} has no rows; it needs one for each image")
    return rows


def named_twice(rows: Sequence[Row]) -> list[str]:
    """Files named by several rows, with the lines of these rows."""
    places: dict[str, list[str]] = {}
    for row in rows:
        places.setdefault(row.cells[FILE], []).append(row.place)
    return [f"{name} ({', '.join(found)})" for name, found in places.items() if len(found) > 1]


def gaps(row: Row, names: Iterable[str]) -> list[str]:
    """Columns in which a row has no value."""
    return [name for name in names if row.cells[name].strip().lower() in _MISSING]


def columns(
    rows: Sequence[Row], names: Sequence[str], kinds: Mapping[str, Kind]
) -> dict[str, Column]:
    """Values by column: numbers if all cells are, names if none is or `kinds` says categorical."""
    return {name: _column(rows, name, kinds.get(name)) for name in names}


def chosen(rows: Sequence[Row], factors: Sequence[str] | None) -> list[str]:
    """Columns to use as factors."""
    known = [name for name in rows[0].cells if name != FILE]
    for name in factors or ():
        if name not in known:
            hint = suggestion(name, known)
            raise InputError(
                f"the table has no column {name!r}{hint}; besides {FILE} it has {', '.join(known)}"
            )
    taken = known if factors is None else list(dict.fromkeys(factors))
    if not taken:
        raise InputError(f"the table has no column besides {FILE}; set table to null to go without")
    return taken


def listing(found: Sequence[str]) -> str:
    """The first few names of a list, and the number of further ones."""
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return ", ".join(found[:SHOWN]) + more


def _column(rows: Sequence[Row], name: str, kind: Kind | None) -> Column:
    texts = [row.cells[name].strip() for row in rows]
    numbers = [_number(text) for text in texts]
    found = [number for number in numbers if number is not None]
    if len(found) == len(rows):
        return found
    if not found or kind == "categorical":
        return texts
    wrong = [
        f"{row.place}: {text!r}"
        for row, text, number in zip(rows, texts, numbers, strict=True)
        if number is None
    ]
    raise InputError(
        f"column {name} has numbers in {len(found)} rows and other text in {listing(wrong)}; "
        f"mend them, or set kinds: {{{name}: categorical}} if its values are names"
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _csv(path: Path) -> list[Row]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream)
            names = [name.strip() for name in next(reader, [])]
            _check_names(path, names)
            rows = [
                Row(f"line {reader.line_num}", _cells(path, names, cells, reader.line_num))
                for cells in reader
                if cells
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as comma-separated text: {error}") from error
    return rows


def _cells(path: Path, names: list[str], cells: list[str], line: int) -> dict[str, str]:
    if len(cells) != len(names):
        raise InputError(
            f"{path}: line {line} has {len(cells)} cells, but there are {len(names)} columns: "
            f"{', '.join(names)}"
        )
    return _normal(dict(zip(names, cells, strict=True)))


def _parquet(path: Path) -> list[Row]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise InputError(
            f"{path} is a Parquet file, and pyarrow, which reads it, is not installed; run "
            "pip install 'dislab[parquet]', or save the table as CSV"
        ) from error
    try:
        table = parquet.read_table(path)
    except (OSError, ArrowException) as error:
        raise InputError(f"{path} cannot be read as a Parquet file: {error}") from error
    # pandas writes its index as a column of this name by default
    names = [name for name in table.column_names if not _ROW_NUMBERS.fullmatch(name)]
    _check_names(path, names)
    values: list[dict[str, Any]] = table.to_pylist()
    return [
        Row(f"row {number}", _normal({name: _text(row[name]) for name in names}))
        for number, row in enumerate(values, start=1)
    ]


def _normal(cells: dict[str, str]) -> dict[str, str]:
    """Cells with a normalised image name, as in a folder listing: `a.png`, not `./a.png`."""
    name = cells[FILE].strip()
    return {**cells, FILE: Path(name).as_posix() if name else ""}


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _check_names(path: Path, names: list[str]) -> None:
    if len(set(names)) < len(names) or "" in names:
        raise InputError(f"{path} needs columns with names of their own, not {', '.join(names)}")
    if FILE not in names:
        other = next((mark for mark in (";", "\t") if mark in "".join(names)), None)
        hint = f"; it seems to be separated by {other!r}, and commas are expected" if other else ""
        raise InputError(
            f"{path} has no column {FILE!r}, which names the images; its first line says "
            f"{', '.join(names) or 'nothing'}{hint}"
        )
