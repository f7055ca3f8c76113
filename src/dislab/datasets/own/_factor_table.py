"""Tables of factor values: CSV or Parquet, one row per image, read as text and then parsed."""

import csv
import io
import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from dislab.datasets.files.image_files import SUFFIXES
from dislab.datasets.own._columns import Gapped, is_number, is_word, listing, missing, name_hint
from dislab.errors import InputError, beside, suggestion
from dislab.factors import Kind
from dislab.yaml_files import read_text

_ROW_NUMBERS: Final = re.compile(r"__index_level_\d+__")
_FIRST: Final = 20
"""Rows by which a table is told to name images or not."""
_HEAD: Final = 1 << 16
"""Bytes of a file in which these rows are looked for."""
_SEPARATORS: Final = (",", ";", "\t")
_DECIMAL_COMMA: Final = re.compile(r"\s*[+-]?\d+,\d+\s*")

_Content = tuple[list[str], list[str], list[list[str]]]
"""Names of columns, lines of rows, and cells by row."""


def is_table(name: str | Path) -> bool:
    """Whether a file has the suffix of a table."""
    return Path(name).suffix.lower() in (".csv", ".parquet")


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


class ImageNames:
    """Looks up which images of a folder the cells of a table name.

    A cell is a path relative to the folder or to that of the table, an absolute path, a path that
    goes through a folder of the same name as this one, or the end of a path such as `a.png` for
    `sub/a.png`. It may lack the suffix.

    Args:
        folder: The folder of the images.
        table: The table.
        images: Names of the images, relative to the folder.
    """

    def __init__(self, folder: Path, table: Path, images: Sequence[str]) -> None:
        self._folder, self._home = (os.path.abspath(path) for path in (folder, table.parent))
        self._images = set(images)
        self._whole, self._ends = (
            defaultdict[str, list[str]](list),
            defaultdict[str, list[str]](list),
        )
        for name in images:
            path = PurePosixPath(name)
            self._whole[path.with_suffix("").as_posix()].append(name)
            for start in range(1, len(path.parts)):
                end = PurePosixPath(*path.parts[start:])
                for text in {end.as_posix(), end.with_suffix("").as_posix()}:
                    self._ends[text].append(name)

    def of(self, cell: str) -> list[str]:
        """The images that a cell may name: none, one, or several if it is the end of several."""
        name = PurePosixPath(cell.strip()).as_posix()
        if not cell.strip():
            return []
        for path in self._paths(name):
            if path in self._images:
                return [path]
            if path in self._whole:
                return self._whole[path]
        return self._ends.get(name, [])

    def _paths(self, name: str) -> list[str]:
        """Paths relative to the folder that a cell may mean."""
        names = [name, name.replace("\\", "/")]
        paths = [*names, os.path.relpath(os.path.join(self._home, name), self._folder)]
        parts, above = names[1].split("/"), os.path.basename(self._folder)
        paths += ["/".join(parts[cut + 1 :]) for cut, part in enumerate(parts) if part == above]
        return [os.path.normpath(path) for path in paths if path]


def read_table(path: Path, file: str, folder: Path, images: Sequence[str]) -> list[Row]:
    """Reads the rows of a table, all with the same columns, of which `file` names the images.

    The file is Parquet if its suffix says so, else text in UTF-8 whose first line names the
    columns, separated by commas, semicolons or tabs. Rejects unreadable files, rows of different
    lengths, missing or duplicate columns, and rows that may name several images of the folder.
    """
    relative = os.path.relpath(path, folder)
    if not path.is_file() and os.path.isfile(relative):  # given from the working directory
        there = os.path.relpath(os.path.realpath(relative), os.path.realpath(folder))
        raise InputError(
            f"the table {path} does not exist, and {relative} does: give its path relative to the "
            f"folder of the images (did you mean {there}?)"
        )
    names, lines, rows = read_cells(path)
    _check_names(path, names, file, rows[0] if rows else [])
    if not rows:
        raise InputError(f"{path} has no rows; it needs one for each image")
    images_of = ImageNames(folder, path, images)
    read, unclear = list[Row](), list[str]()
    for line, cells in zip(lines, rows, strict=True):
        row = _row(path, names, file, line, cells)
        named = images_of.of(row.file)
        if len(named) > 1:
            unclear.append(f"{row.file} ({line}: {listing(named)})")
        read.append(row._replace(file=named[0]) if named else row)
    if unclear:
        raise InputError(
            f"{path} has names of several images: {listing(unclear)}; write their paths relative "
            f"to {folder}"
        )
    return read


def read_cells(path: Path) -> _Content:
    """Names of columns, lines of rows, and cells by row, of a table that exists and is readable."""
    if not path.is_file():
        raise InputError(
            f"the table {path} does not exist{beside(path)}; give the file of the factor values, "
            "its path relative to the folder of the images"
        )
    return _parquet(path) if path.suffix.lower() == ".parquet" else _csv(path)


def first_rows(path: Path) -> list[list[str]]:
    """Cells of the first rows of a table, below the names of its columns; none if unreadable."""
    with suppress(OSError, InputError, csv.Error):
        if path.suffix.lower() == ".parquet":
            return _parquet(path, _FIRST)[2]
        with path.open("rb") as file:
            text = file.read(_HEAD).decode("utf-8", errors="replace").removeprefix("\ufeff")
        header, *lines = text.splitlines()[: _FIRST + 1] or [""]
        return list(csv.reader(lines, delimiter=_separator(header)))
    return []


def named_twice(rows: Sequence[Row]) -> list[str]:
    """Files named by several rows, with the lines of these rows."""
    lines_of: dict[str, list[str]] = {}
    for row in rows:
        lines_of.setdefault(row.file, []).append(row.line)
    return [f"{name} ({listing(lines)})" for name, lines in lines_of.items() if len(lines) > 1]


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


def chosen(
    rows: Sequence[Row],
    file: str,
    factors: Sequence[str] | None,
    levels: Mapping[str, Sequence[str]],
) -> list[str]:
    """Columns to use as factors, and those of the levels of subfolders that are asked for."""
    names = list(rows[0].cells)
    for name in factors or ():
        if name not in names and name not in levels:
            hint = suggestion(name, [*names, *levels])
            several = [level for level, values in levels.items() if len(set(values)) > 1]
            beside = f", and the subfolders are {', '.join(several)}" if several else ""
            raise InputError(
                f"the table has no column {name!r}{hint}; besides {file} it has "
                f"{', '.join(names)}{beside}"
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
        separator = _separator(text.readline())
        text.seek(0)
        reader = csv.reader(text, delimiter=separator)
        names = [name.strip() for name in next(reader, [])]
        lines = [(f"line {reader.line_num}", cells) for cells in reader if cells]
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as a table: {error}") from error
    rows = [cells for _, cells in lines]
    if separator != ",":  # then numbers may have a decimal comma
        rows = [[_with_point(cell) for cell in cells] for cells in rows]
    return names, [line for line, _ in lines], rows


def _separator(header: str) -> str:
    """The mark that separates most names of columns."""
    return max(_SEPARATORS, key=lambda mark: len(next(csv.reader([header], delimiter=mark), [])))


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell


def _parquet(path: Path, count: int | None = None) -> _Content:
    """All rows of a file, or the first ones."""
    try:
        from pyarrow import ArrowException, Table, parquet
    except ImportError as error:
        raise InputError(
            f"{path} is a Parquet file, and pyarrow, which reads it, is not installed; run "
            "pip install 'dislab[parquet]', or save the table as CSV"
        ) from error
    try:
        if count is None:
            table = parquet.read_table(path)
        else:
            with parquet.ParquetFile(path) as file:
                batches = islice(file.iter_batches(count), 1)
                table = Table.from_batches(list(batches), file.schema_arrow)
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
    if "" in names:
        raise InputError(
            f"{path}: column {names.index('') + 1} has no name in the first line, which is "
            f"{', '.join(names)}; name it"
        )
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path} has {names.count(name)} columns named {name!r}; rename them")
    if file not in names:
        hint = ""
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
