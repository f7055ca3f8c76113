"""Tables as text and files."""

import re
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from dislab.errors import InputError
from dislab.storage import atomic

if TYPE_CHECKING:
    import pandas as pd

TableFormat = Literal["csv", "markdown", "latex", "parquet"]
FORMATS: Final[tuple[TableFormat, ...]] = ("csv", "markdown", "latex", "parquet")
PictureFormat = Literal["svg", "pdf", "png", "none"]
PICTURES: Final[tuple[PictureFormat, ...]] = ("svg", "pdf", "png", "none")
SUFFIXES: Final[Mapping[str, TableFormat]] = {
    ".csv": "csv",
    ".md": "markdown",
    ".tex": "latex",
    ".parquet": "parquet",
}
MARKS: Final[Mapping[str, str]] = {
    "markdown": "<!-- dislab -->",
    "latex": "% dislab wrote this table",
}
"""First lines of files whose tables have too few columns to be told from those of a user."""
_OF_MEANS: Final = frozenset(("score", "mean", "sd", "low", "high", "runs", "seeds", "missing"))
"""Columns of every table of `dislab.study.statistics.means`."""
_FORMULA: Final = ("=", "+", "-", "@")
"""Beginnings of formulas in spreadsheets, also behind blanks."""
_HEAD: Final = 1 << 20
"""Bytes in which the columns of a table are looked for."""
_HEAD_LINES: Final = 3
"""Lines in which the columns are looked for; LaTeX has two lines above them."""


def table_bytes(table: "pd.DataFrame", form: TableFormat) -> bytes:
    """The bytes of a table in one of the formats; equal tables give equal bytes.

    CSV and Parquet keep full precision; Markdown and LaTeX round to three decimals.

    Raises:
        InputError: The format is Parquet and pyarrow is not installed.
    """
    return _WRITERS[form](table)


def write_table(table: "pd.DataFrame", path: Path, form: TableFormat | None = None) -> None:
    """Writes a table into a file, in the format of its suffix unless `form` is given.

    Raises:
        InputError: The suffix is unknown, or the file cannot be written.
    """
    content = table_bytes(table, form or format_of(path))
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def is_table(path: Path) -> bool:
    """Whether a file is a table of runs or of means, by its mark or its columns."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(4) == b"PAR1":
            file.seek(max(size - _HEAD, 0))
            content = file.read()
            is_of_means = all(b'"name": "%s"' % name.encode() in content for name in _OF_MEANS)
            return is_of_means or b'"index_columns": ["run"]' in content
        file.seek(0)
        lines = file.read(_HEAD).decode("utf-8", errors="ignore").splitlines()[:_HEAD_LINES]
    rows = ([cell.strip(' |\\"') for cell in re.split("[,|&]", line.strip("| "))] for line in lines)
    return lines[:1] in ([mark] for mark in (*MARKS.values(), "% dislab")) or any(
        (row[0] == "run" and {"seed", "state"} <= set(row))
        or {"runs", "best run"} <= set(row)
        or set(row) >= _OF_MEANS
        for row in rows
    )


def format_of(path: Path) -> TableFormat:
    """The format of a file by its suffix; raises `InputError` for an unknown suffix."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"{path} has no suffix of a table; end it in {', '.join(SUFFIXES)}, or give --format"
        )
    return SUFFIXES[suffix]


def _csv(table: "pd.DataFrame") -> bytes:
    cells = table.rename(index=_no_formula, columns=_no_formula)
    for index, (_, column) in enumerate(table.items()):
        if column.map(lambda cell: isinstance(cell, str)).any():
            cells.isetitem(index, list(column.map(_no_formula)))
    return cells.to_csv(lineterminator="\n").encode(errors="backslashreplace")


def _no_formula(cell: Any) -> Any:
    """A cell that no spreadsheet executes: a text that begins like a formula gets a `'`."""
    if not isinstance(cell, str) or not cell.lstrip().startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _parquet(table: "pd.DataFrame") -> bytes:
    buffer = BytesIO()
    try:
        # an axis may mix value types, which a Parquet column cannot
        _of_one_kind(table).to_parquet(buffer)
    except ImportError as error:
        raise InputError(
            "Parquet files need pyarrow: pip install 'dislab[parquet]', or choose another format"
        ) from error
    return buffer.getvalue()


def _of_one_kind(table: "pd.DataFrame") -> "pd.DataFrame":
    table = table.infer_objects()  # whole numbers of an axis beside others
    texts = {
        str(name): table[name].map(str)
        for name in table
        if table[name].dtype == object and len({type(cell) for cell in table[name]}) > 1
    }
    return table.assign(**texts)


def _markdown(table: "pd.DataFrame") -> bytes:
    from dislab.study.statistics import markdown

    return markdown(table).encode()


def _latex(table: "pd.DataFrame") -> bytes:
    from dislab.study.statistics import latex

    return latex(table).encode()


_WRITERS: Final[Mapping[str, Callable[["pd.DataFrame"], bytes]]] = {
    "csv": _csv,
    "markdown": _markdown,
    "latex": _latex,
    "parquet": _parquet,
}
