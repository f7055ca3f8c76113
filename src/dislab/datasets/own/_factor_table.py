"""Tables of factor values: CSV or Parquet, one row per image, read as text and then parsed."""

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from dislab.datasets.files.image_files import SUFFIXES
from dislab.datasets.own._columns import Gapped, is_number, is_word, listing, missing, name_hint
from dislab.errors import InputError, suggestion
from dislab.factors import Kind
from dislab.yaml_files import read_text

_ROW_NUMBERS: Final = re.compile(r"__index_level_\d+__")

_Content = tuple[list[str], list[str], list[list[str]]]
"""Names of columns, lines of rows, and cells by row."""


class Row(NamedTuple):
    """One row of a table.

    Attributes:
        line: Its line in the table, for messages.
        file: Name of its image, as in a folder listing: `a.png`, not `./a.png`.
        cells: Its other values as text, by column; empty if missing.
    """

    line: str
    file: str
    cells: dict[str, str]


def read_table(path: Path, file: str, images: Sequence[str]) -> list[Row]:
    """Reads the rows of a table, all with the same columns, of which `file` names the images.

    A name may lack its suffix, if one of the images has it with a suffix.

    The file is Parquet if its suffix says so, else comma-separated text in UTF-8 whose first line
    names the columns. Rejects unreadable files, rows of different lengths, and missing or
    duplicate columns.
    """
    names, lines, rows = read_cells(path)
    _check_names(path, names, file, rows[0] if rows else [])
    if not rows:
        raise InputError(f"{path} has no rows; it needs one for each image")
    full = without_suffix(images)
    read = [_row(path, names, file, *row) for row in zip(lines, rows, strict=True)]
    return [row._replace(file=full.get(row.file, row.file)) for row in read]


def without_suffix(images: Sequence[str]) -> dict[str, str]:
    """Names of images by their names without suffix, where only one image has that."""
    stems = Counter(PurePosixPath(name).with_suffix("").as_posix() for name in images)
    by_stem = {PurePosixPath(name).with_suffix("").as_posix(): name for name in images}
    taken = set(images)
    return {stem: name for stem, name in by_stem.items() if stems[stem] == 1 and stem not in taken}


def read_cells(path: Path) -> _Content:
    """Names of columns, lines of rows, and cells by row, of a table that exists and is readable."""
    if not path.is_file():
        raise InputError(
            f"the table {path} does not exist; give the file of the factor values, its path "
            "relative to the folder of the images"
        )
    return _parquet(path) if path.suffix.lower() == ".parquet" else _csv(path)


def separator_hint(names: Sequence[str]) -> str:
    """What seems to be wrong with names of columns that hold another separator than commas."""
    separator = next((mark for mark in (";", "\t") if mark in "".join(names)), None)
    return (
        f"; it seems to be separated by {separator!r}, and commas are expected" if separator else ""
    )


def named_twice(rows: Sequence[Row]) -> list[str]:
    """Files named by several rows, with the lines of these rows."""
    lines_of: dict[str, list[str]] = {}
    for row in rows:
        lines_of.setdefault(row.file, []).append(row.line)
    return [f"{name} ({', '.join(lines)})" for name, lines in lines_of.items() if len(lines) > 1]


def gaps(
    rows: Sequence[Row], file: str, names: Sequence[str], kinds: Mapping[str, Kind]
) -> tuple[dict[str, list[str]], str]:
    """Columns without a value, by the line of their row, and advice on words that may be names."""
    lacking_columns = [[file] if missing([row.file], None) else [] for row in rows]
    hint = ""
    for name in names:
        cells = [row.cells[name] for row in rows]
        lacking = missing(cells, kinds.get(name))
        for row in lacking:
            lacking_columns[row].append(name + (f": {cells[row]!r}" if is_word(cells[row]) else ""))
        hint = hint or name_hint(name, [cells[row] for row in lacking], kinds.get(name))
    return {
        row.line: row_columns
        for row, row_columns in zip(rows, lacking_columns, strict=True)
        if row_columns
    }, hint


def columns(
    rows: Sequence[Row], names: Sequence[str], kinds: Mapping[str, Kind]
) -> dict[str, Gapped]:
    """Values by column: numbers if all cells are, names if none is or `kinds` says categorical.

    A cell without a value is None.
    """
    return {name: _column(rows, name, kinds.get(name)) for name in names}


def chosen(rows: Sequence[Row], file: str, factors: Sequence[str] | None) -> list[str]:
    """Columns to use as factors."""
    names = list(rows[0].cells)
    for name in factors or ():
        if name not in names:
            hint = suggestion(name, names)
            raise InputError(
                f"the table has no column {name!r}{hint}; besides {file} it has {', '.join(names)}"
            )
    selected = names if factors is None else list(dict.fromkeys(factors))
    if not selected:
        raise InputError(f"the table has no column besides {file}; set table to null to go without")
    return selected


def _column(rows: Sequence[Row], name: str, kind: Kind | None) -> Gapped:
    texts = [row.cells[name].strip() for row in rows]
    empty = set(missing(texts, kind))
    wrong = [row for row, text in enumerate(texts) if not is_number(text) and row not in empty]
    if not wrong:
        return [None if row in empty else float(text) for row, text in enumerate(texts)]
    count = len(rows) - len(empty)
    if len(wrong) == count or kind == "categorical":
        return [None if row in empty else text for row, text in enumerate(texts)]
    lines = listing([f"{rows[row].line}: {texts[row]!r}" for row in wrong])
    raise InputError(
        f"column {name} has numbers in {count - len(wrong)} rows and other text in {lines}; "
        f"mend them, or set kinds: {{{name}: categorical}} if its values are names"
    )


def _csv(path: Path) -> _Content:
    text = io.StringIO(read_text(path).removeprefix("\ufeff"), newline="")
    try:
        reader = csv.reader(text)
        names = [name.strip() for name in next(reader, [])]
        lines = [(f"line {reader.line_num}", cells) for cells in reader if cells]
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as comma-separated text: {error}") from error
    return names, [line for line, _ in lines], [cells for _, cells in lines]


def _parquet(path: Path) -> _Content:
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
    values: list[dict[str, Any]] = table.to_pylist()
    lines = [f"row {index}" for index in range(1, len(values) + 1)]
    return (
        names,
        lines,
        [["" if row[name] is None else str(row[name]) for name in names] for row in values],
    )


def _row(path: Path, names: list[str], file: str, line: str, values: list[str]) -> Row:
    if len(values) != len(names):
        raise InputError(
            f"{path}: {line} has {len(values)} cells, but there are {len(names)} columns: "
            f"{', '.join(names)}"
        )
    cells = dict(zip(names, values, strict=True))
    name = cells.pop(file).strip()
    return Row(line, Path(name).as_posix() if name else "", cells)


def _check_names(path: Path, names: list[str], file: str, first: list[str]) -> None:
    """Rejects column names that are missing or duplicate; `first` is the first row of values."""
    if len(set(names)) < len(names) or "" in names:
        raise InputError(f"{path} needs columns with names of their own, not {', '.join(names)}")
    if file not in names:
        hint = separator_hint(names)
        images = [
            name
            for name, cell in zip(names, first, strict=False)
            if Path(cell.strip()).suffix.lower() in SUFFIXES
        ]
        if images:
            hint = f"; if {images[0]} does, choose it as file, or rename that column"
        raise InputError(
            f"{path} has no column {file!r}, which names the images{suggestion(file, names)}; its "
            f"first line says {', '.join(names) or 'nothing'}{hint}"
        )
