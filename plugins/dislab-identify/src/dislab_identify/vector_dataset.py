"""Vectors of your own, from a table."""

import csv
import zipfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, final

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError, missing, one_line, suggestion
from dislab.storage.downloads import sha256
from dislab_identify.vectors import Content, Vectors, space_of

SUFFIXES: Final = (".csv", ".tsv", ".npy", ".npz")
_SEPARATORS: Final = (",", ";", "\t")
_SHOWN: Final = 3
_LARGEST: Final = float(np.finfo(np.float32).max)


class Table(NamedTuple):
    """Numbers with names of their columns.

    Attributes:
        names: Names of the columns.
        rows: Finite numbers, shape (row, column).
    """

    names: list[str]
    rows: npt.NDArray[np.float64]


@final
class VectorDataset(Vectors):
    """Rows of a table of numbers, of which some columns may be factors.

    A CSV or TSV file may start with a line of names; other columns are named `0`, `1`, …. An `npy`
    file has one array of shape (row, column). An `npz` archive has the arrays `vectors`, shape
    (row, feature), and, if there are factors, `factors`, shape (row, factor), and their `names`.

    Args:
        path: The file.
        factors: Names of the columns that are factors instead of features; not for `npz`.
        features: Names of the columns that are features; all others unless given.
        standardize: Whether features are shifted and scaled to mean 0 and standard deviation 1
            over all rows, as a Gaussian likelihood of unit variance expects. Constant features
            become 0.

    Raises:
        InputError: The file cannot be read, a value is missing, infinite or no number, a column
            has no name of its own, or there is no such column.
    """

    licence: ClassVar[str] = "your own"
    contents: ClassVar[str] = "rows of a table of your own"

    def __init__(
        self,
        path: str,
        factors: list[str] | None = None,
        features: list[str] | None = None,
        standardize: bool = True,
    ) -> None:
        self.path = path
        self.columns = factors
        self.features = features
        self.standardize = standardize

    @cached_property
    def content(self) -> Content:
        """The vectors and their factors, read once."""
        vectors, labels = self._tables
        columns = dict(zip(labels.names, labels.rows.T, strict=True))
        rows = self.scaled_rows(vectors.rows)
        if (large := np.abs(rows) > _LARGEST).any():
            name = vectors.names[int(np.flatnonzero(large.any(axis=0))[0])]
            raise InputError(
                f"column {name} of {self.path} exceeds float32; set standardize to true"
            )
        return Content(rows.astype(np.float32), space_of(columns, len(rows)))

    def scaled_rows(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Other rows with the same features, shifted and scaled as those of the table.

        Args:
            rows: Numbers in the units of the table, shape (row, feature).
        """
        if not self.standardize:
            return rows
        table = self._tables[0].rows
        spread = table.std(axis=0)
        still = (table == table[:1]).all(axis=0) | (spread == 0)
        return np.asarray((rows - table.mean(axis=0)) / np.where(still, np.inf, spread))

    def provenance(self) -> dict[str, str]:
        """File, and the checksum of its bytes."""
        file = Path(self.path).expanduser()
        return {"source": str(file), "checksum": f"sha256:{sha256(file)}"}

    def image_ids(self, index: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
        """The row of each state in the file."""
        return {"rows": np.asarray(index)}

    @cached_property
    def _tables(self) -> tuple[Table, Table]:
        """The features and the factors."""
        file = Path(self.path).expanduser()
        vectors, labels = self._parts(file)
        if not vectors.names:
            raise InputError(f"{file} has no column left for the vectors; give fewer factors")
        return vectors, labels

    def _parts(self, file: Path) -> tuple[Table, Table]:
        if file.suffix.lower() == ".npz":
            return self._of_archive(file)
        columns = None if self.features is None else [*self.features, *(self.columns or [])]
        table = _read(file, columns)
        factors = _chosen(file, table.names, self.columns or [], "factors")
        others = [name for name in table.names if name not in factors]
        features = others
        if self.features is not None:
            features = _chosen(file, table.names, self.features, "features")
            if both := [name for name in features if name in factors]:
                raise InputError(f"{both[0]} is among factors and features; name it once")
        return _selected(table, features), _selected(table, factors)

    def _of_archive(self, file: Path) -> tuple[Table, Table]:
        if self.columns is not None or self.features is not None:
            raise InputError(
                f"{file} has its factors in the array factors; leave out factors and features"
            )
        arrays = _archive(file)
        if "vectors" not in arrays:
            raise InputError(f"{file} has no array vectors, only {', '.join(arrays) or 'nothing'}")
        vectors = _numbers(f"vectors of {file}", arrays["vectors"])
        labels = np.empty((len(vectors), 0))
        if "factors" in arrays:
            labels = _numbers(f"factors of {file}", arrays["factors"])
            if len(labels) != len(vectors):
                raise InputError(
                    f"{file} has {len(vectors)} vectors and {len(labels)} rows of factors; give "
                    "one row of factors for each vector"
                )
        names = [f"factor{column}" for column in range(labels.shape[1])]
        if "names" in arrays:
            names = [str(name) for name in np.atleast_1d(arrays["names"])]
            if len(names) != labels.shape[1]:
                raise InputError(f"{file} has {len(names)} names for {labels.shape[1]} factors")
        _check_names(file, names)
        return Table([str(each) for each in range(vectors.shape[1])], vectors), Table(names, labels)


def _selected(table: Table, names: Sequence[str]) -> Table:
    return Table(list(names), table.rows[:, [table.names.index(name) for name in names]])


def _chosen(file: Path, names: list[str], chosen: list[str], setting: str) -> list[str]:
    for name in chosen:
        if name not in names:
            raise InputError(
                f"{setting} names {name!r}{suggestion(name, names)}, which is no column of {file}; "
                f"it has {', '.join(names[:20])}{', …' if len(names) > 20 else ''}"
            )
    _check_names(file, chosen)
    return chosen


def _check_names(file: Path, names: Sequence[str]) -> None:
    if again := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise InputError(f"two columns of {file} are named {again[0]!r}; give each its own name")


def _read(file: Path, columns: Sequence[str] | None) -> Table:
    """The table; of a text file only the wanted columns, so that others may hold text."""
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{file} is no table that can be read; give {', '.join(SUFFIXES)}")
    if suffix == ".npy":
        try:
            array = np.load(file, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise _unreadable(file, error) from error
        rows = _numbers(str(file), array)
        return Table([str(column) for column in range(rows.shape[1])], rows)
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            first = lines.readline()
            lines.seek(0)
            separator = "\t" if suffix == ".tsv" else max(_SEPARATORS, key=first.count)
            cells = [row for row in csv.reader(lines, delimiter=separator) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _unreadable(file, error) from error
    return _of_cells(file, cells, columns)


def _of_cells(file: Path, cells: list[list[str]], columns: Sequence[str] | None) -> Table:
    if not cells:
        raise InputError(f"{file} is empty; give a table of numbers")
    width = len(cells[0])
    for line, row in enumerate(cells, start=1):
        if len(row) != width:
            raise InputError(
                f"row {line} of {file} has {len(row)} columns, and the first row {width}; give "
                "every row as many"
            )
    has_names = not all(_is_number(cell) for cell in cells[0])
    names = [cell.strip() for cell in cells[0]] if has_names else [str(i) for i in range(width)]
    _check_names(file, names)
    rows = cells[1:] if has_names else cells
    if columns is not None and set(columns) <= set(names):
        selected = [names.index(name) for name in dict.fromkeys(columns)]
        names, width = [names[column] for column in selected], len(selected)
        rows = [[row[column] for column in selected] for row in rows]
    try:
        numbers = np.array(rows, dtype=np.float64).reshape(len(rows), width)
    except ValueError:
        line, column = next(
            (line, column)
            for line, row in enumerate(rows)
            for column, cell in enumerate(row)
            if not _is_number(cell)
        )
        raise InputError(
            f"column {names[column]} of {file} has {rows[line][column][:40]!r} in row "
            f"{line + 1 + has_names}, which is no number; leave out the column by features, or the "
            "row"
        ) from None
    return Table(names, _numbers(str(file), numbers, names))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _archive(file: Path) -> dict[str, npt.NDArray[Any]]:
    try:
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise _unreadable(file, error) from error


def _numbers(
    name: str, array: npt.NDArray[Any], columns: Sequence[str] | None = None
) -> npt.NDArray[np.float64]:
    """A table of finite real numbers with at least two rows."""
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} has the type {array.dtype}; give real numbers")
    if array.ndim != 2 or len(array) < 2 or not array.shape[1]:
        raise InputError(
            f"{name} has the shape {array.shape}; give a table of at least two rows and one column"
        )
    rows = array.astype(np.float64)
    if (wrong := np.argwhere(~np.isfinite(rows))).size:
        places = ", ".join(
            f"row {line} column {columns[column] if columns else column}"
            for line, column in wrong[:_SHOWN].tolist()
        )
        more = f" and {len(wrong) - _SHOWN} more places" if len(wrong) > _SHOWN else ""
        raise InputError(
            f"{name} is NaN or infinite in {places}{more} (rows from 0); fill these values, or "
            "leave out the rows"
        )
    return rows


def _unreadable(file: Path, error: Exception) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(missing(file, "path", "the path of a table"))
    return InputError(f"{file} cannot be read: {one_line(error)}; give a table of numbers")
