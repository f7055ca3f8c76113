"""Everything about a folder of images and its table at once, and the settings that fit."""

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

import numpy as np
from PIL import Image
from tqdm import tqdm

from dislab.datasets.bank.labels import INSTANCE
from dislab.datasets.files.image_files import (
    SUFFIXES,
    UNREADABLE,
    Fit,
    equal_files,
    files_below,
    read_image,
)
from dislab.datasets.own import _factor_table as table_files
from dislab.datasets.own._columns import Traits, is_number, labelled, listing
from dislab.datasets.own._factor_notes import (
    described,
    equal_factors,
    of_angles,
    of_equal,
    of_few,
    of_measured,
    other_factors,
)
from dislab.datasets.own._subfolders import Subfolders, folder_levels
from dislab.datasets.own.folder_dataset import FolderDataset
from dislab.errors import InputError
from dislab.factors import FactorSpace

_SIDE: Final = 64
"""Height and width in pixels that most networks of dislab take."""

_LARGE: Final = 50_000_000
"""Bytes of all tables beside the folder of the images that are read, which bounds the time."""
_MANY: Final = 10
"""Inverse of the share of rows without an image that is worth a note."""
_FITS: Final[dict[str, str]] = {
    "pad": "adds black borders to the sides",
    "crop": "cuts off the ends",
    "squash": "changes the proportions",
}
_GREY: Final = frozenset(("1", "L", "LA"))
_ORIENTATION: Final = 274
"""EXIF tag; from 5 on, width and height are exchanged."""

Rows = list[tuple[str, str]]
"""Lines of a report: a title, and what it says."""


class Inspection(NamedTuple):
    """Images of a folder or file, their factors, and settings of a data set for them.

    Attributes:
        images: Report on the images: number, sizes, modes, faults, duplicates.
        table: Report on the factors: columns, gaps, rows without images, images without rows.
        settings: Settings that differ from the defaults of the data set.
        faults: Errors of the data set with these settings, which only a change of the files mends.
        notes: Warnings of the data set with these settings, and what the settings leave out.
        decided: Those of the notes that say what the settings leave out or change, and which
            factors may be angles, which changes scores.
        factors: Names of the factors that are scored.
        largest: Height or width of the largest image in pixels, before any conversion.
        size: Height and width in pixels that all images have with the settings.
        advised: The factors to choose: those without columns that only name images, with
            subfolders of splits, and where there are none, those offered; empty if all may stay.
        is_labelled: Whether the images have factors.
        offered: Factors that were not asked for: subfolders, or files beside the images.
        beside: A table beside the folder that names its images, where no other one does; else "".
        dataset: Class of the data set.
        copies: Groups of files with equal bytes.
    """

    images: Rows
    table: Rows
    settings: dict[str, Any]
    faults: list[str]
    notes: list[str]
    decided: list[str]
    factors: list[str]
    largest: int
    size: tuple[int, int]
    advised: list[str]
    is_labelled: bool
    offered: list[str]
    beside: str
    dataset: str
    copies: list[list[str]]


def inspect(
    path: Path,
    table: str | None = None,
    file: str | None = None,
    factors: Sequence[str] | None = None,
    side: int = _SIDE,
    keep: bool = True,
    fit: Fit | None = None,
) -> Inspection:
    """Reads all images of a folder, and the table of their factors if there is one.

    Args:
        path: The folder of the images, or a table with names of images relative to itself.
        table: The table, relative to the folder, or where that has none, to the working directory;
            the one whose rows name most images unless given.
        file: The column that names the images; the one with most names of images unless given.
        factors: The columns and levels of subfolders that are factors; all other columns unless
            given.
        side: Height and width in pixels that the images shall have.
        keep: Whether images without a value of some factor are to be kept.
        fit: Treatment of images that are not square; unless given, `pad` beside a table, whose
            columns may tell positions, and `crop` without one.

    Raises:
        InputError: The path is neither a folder nor a table, there are no images, or the table has
            no such factor.
    """
    folder, names, others, table = _listed(path, table)
    tables = [name for name in others if table_files.is_table(name)]
    candidates = tables if table is None else [table]
    matches = [_match(folder, name, names, file) for name in candidates]
    asked = (table, file, factors) != (None, None, None)
    source, subfolders = _source(folder, names, matches, factors, asked)
    sizes, modes = _formats(folder, names)
    settings = {"folder": str(folder), "table": None, **source.settings}
    fit = fit or ("pad" if settings["table"] else "crop")
    settings |= _conversion(sizes, modes, side, fit)
    foreign = [name for name in others if name not in tables]
    if settings["table"] is None and foreign:
        settings["gaps"] = "drop"
    unread = _refusals(folder, names, settings)
    if settings.get("gaps") == "keep":
        dropping = settings | {"gaps": "drop"}
        readable = set(names) - set(unread)
        # the unreadable may be just the images that the table leaves out
        if not keep or (unread and set(_tried(dropping, names, unread)[0]) == readable):
            settings = dropping
    copies = equal_files(folder, [name for name in names if name not in unread])
    if copies:
        settings["copies"] = "drop"
    others, left_out = list[str](), list[str]()
    if source.columns and factors is None:
        whole = settings | ({"gaps": "keep"} if "gaps" in settings else {})
        used, *_, space = _tried(whole, names, unread)
        if space:
            rows = {file: row for row, file in enumerate(next(iter(source.columns.values())))}
            order = np.argsort([rows.get(file, len(rows)) for file in used])
            others, left_out = other_factors(space, order, list(source.columns))
    if others:
        settings["factors"] = others
    used, faults, notes, advised, space = _tried(settings, names, unread)
    advised = advised or (others if space else [])
    settings |= of_measured(space)
    subfolders = subfolders._replace(chosen=advised or subfolders.chosen)
    is_labelled = bool(set(subfolders.chosen) - set(subfolders.splits))
    if subfolders.advised:
        advised = [*subfolders.chosen, *subfolders.advised]
    elif not is_labelled:
        advised = subfolders.offered
    notes += source.doubts
    if not faults:  # which hide what a column tells
        notes += subfolders.offers_of_levels()
    decided = [*left_out, *subfolders.parting(), *(of_angles(space) if space else [])]
    beside, named = ("", 0) if asked or settings["table"] else _beside(folder, names)
    if beside:
        them = f"{named:,} of {len(names):,} images"
        notes.append(f"{beside} beside the folder names {them}: --table {beside}")
    with_copies = {name: value for name, value in settings.items() if name != "copies"}
    complete = len(_tried(with_copies, names, unread)[0] if copies else used)
    if not faults and complete < len(names):
        lost = f"{len(names) - complete:,} of {len(names):,} images"
        decided.append(f"gaps: drop leaves out {lost}, which have no row or lack a value")
    if copies:
        counts = "" if faults else f": {len(used):,} of {complete:,} images"
        decided.append(
            "copies: drop takes one of equal files, which else may fall into training and test"
            f"{counts}; --data.dataset.copies keep of `dislab fit` "
            "takes all, --copies FILE of `dislab data check` lists them"
        )
    if "fit" in settings:
        decided.append(_of_fit(fit, sizes))
    images = [
        ("images", f"{len(names):,}"),
        ("sizes", _counts(f"{width}×{height}" for width, height in sizes.values())),
        ("modes", _counts(modes.values())),
        ("refused", _many(list(unread))),
        ("equal files", _groups(copies)),
    ]
    if foreign:
        images.append(("other files", listing(foreign)))
    return Inspection(
        images=images,
        table=[*source.report, *subfolders.rows()],
        settings=settings,
        faults=faults,
        notes=[*notes, *decided],
        decided=decided,
        factors=list(space.essential_names) if space else [],
        largest=max((max(size) for size in sizes.values()), default=side),
        size=(side, side),
        advised=advised,
        is_labelled=is_labelled,
        offered=subfolders.offered,
        beside=beside,
        dataset="FolderDataset",
        copies=copies,
    )


class _Source(NamedTuple):
    """Where factors come from: a table, subfolders, both, or nothing.

    Attributes:
        report: Lines on the table and the factors.
        settings: Settings of a data set that takes them.
        doubts: Notes on them.
        columns: All columns of the table but that of the files: the cell of each image.
    """

    report: Rows
    settings: dict[str, Any]
    doubts: list[str]
    columns: Mapping[str, Mapping[str, str]]


def _source(
    folder: Path,
    names: Sequence[str],
    matches: Sequence["_Match"],
    factors: Sequence[str] | None,
    asked: bool,
) -> tuple[_Source, Subfolders]:
    """The source of the factors, and what subfolders add to it.

    Raises:
        InputError: A table was asked for and there is none, or it has no such factor.
    """
    match = max(matches, key=lambda each: each.images, default=_Match("", "file", 0))
    levels = folder_levels(names)
    if factors and not match.images and levels.keys() >= set(factors):
        report = [("table", "none"), *_level_rows(levels, factors)]
        source = _Source(report, {"factors": list(factors)}, [], {})
        subfolders = Subfolders(levels, list(factors), False, {})
    elif asked and not match.table:
        raise InputError(
            f"{folder} has no CSV or Parquet table; --table names one that lies elsewhere"
        )
    else:
        source = _table(folder, names, match, levels, factors, asked)
        levels = {name: level for name, level in levels.items() if name not in source.columns}
        equal = _equal_columns(levels, names, source.columns)
        subfolders = Subfolders(levels, list(factors or source.columns), True, equal)
    doubts = list(source.doubts)
    if further := [other.table for other in matches if other.images and other is not match]:
        them = f"{' and '.join(further)} {'name' if len(further) > 1 else 'names'} images, too"
        doubts.append(f"{match.table} is the table; {them}: --table chooses another")
    return source._replace(doubts=doubts), subfolders


def _listed(path: Path, table: str | None) -> tuple[Path, list[str], list[str], str | None]:
    """The folder of a path, its images, its other files, and the table relative to the folder.

    Raises:
        InputError: The path is neither a folder nor a table, or there are no images.
    """
    if path.is_file() and table_files.is_table(path.name):
        path, table = path.parent, path.name
    if not path.is_dir():
        raise InputError(
            f"{path} is no folder of images, no CSV or Parquet table that names them, and no npy "
            "or npz file; give one of these"
        )
    names, others = files_below(path)
    if not names:
        suffixes = ", ".join(sorted(SUFFIXES))
        raise InputError(f"{path} holds no images; files of images end in {suffixes}")
    if table is not None and not (path / table).is_file() and Path(table).is_file():
        table = os.path.relpath(os.path.realpath(table), os.path.realpath(path))
    return path, names, others, table


def _level_rows(levels: Mapping[str, list[str]], names: Sequence[str]) -> Rows:
    """A line on each level of subfolders that is a factor."""
    traits = Traits({}, {}, {})
    spaces = {name: labelled({name: levels[name]}, traits).space for name in names}
    return [(f"factor {name}", described(space[name])) for name, space in spaces.items()]


def _of_fit(fit: Fit, sizes: Mapping[str, tuple[int, int]]) -> str:
    """A note on what happens to images that are not square."""
    uneven = sum(width != height for width, height in sizes.values())
    them = "1 image that is" if uneven == 1 else f"{uneven:,} images that are"
    return f"fit: {fit} {_FITS[fit]} of {them} not square"


def _formats(
    folder: Path, names: Sequence[str]
) -> tuple[dict[str, tuple[int, int]], dict[str, str]]:
    """Size and mode of each readable image, by name."""
    sizes, modes = {}, {}
    for name in names:
        with suppress(*UNREADABLE), Image.open(folder / name) as image:
            turned = image.getexif().get(_ORIENTATION, 1) >= 5
            sizes[name] = image.size[::-1] if turned else image.size
            modes[name] = image.mode
    return sizes, modes


def _conversion(
    sizes: Mapping[str, tuple[int, int]], modes: Mapping[str, str], side: int, fit: Fit
) -> dict[str, Any]:
    """The settings `side`, `fit` and `colour` that make images alike."""
    settings: dict[str, Any] = {}
    if set(sizes.values()) != {(side, side)}:
        settings["side"] = side
        if any(width != height for width, height in sizes.values()):
            settings["fit"] = fit
    kinds = set(modes.values())
    if not kinds <= {"1", "L"} and kinds != {"RGB"}:
        settings["colour"] = "grey" if kinds <= _GREY else "rgb"
    return settings


def _refusals(folder: Path, names: Sequence[str], settings: Mapping[str, Any]) -> dict[str, str]:
    """Errors of the images that cannot be read with the settings, by name."""
    colour, fit = settings.get("colour", "keep"), settings.get("fit", "squash")
    errors = {}
    for name in tqdm(names, desc="reading", unit=" images", leave=False, disable=None):
        try:
            read_image(folder / name, settings.get("side"), colour, fit)
        except InputError as error:
            errors[name] = str(error)
    return errors


class _Match(NamedTuple):
    """A table, its column that names most images, and how many; no table has the name "".

    A column that names a few by chance counts as none, and `doubt` says so.
    """

    table: str
    file: str
    images: int
    doubt: str = ""


def _match(folder: Path, table: str, names: Sequence[str], file: str | None) -> _Match:
    columns, _, rows = table_files.read_cells(folder / table)
    images_of = table_files.ImageNames(folder, folder / table, names)
    cells_of = {
        name: cells
        for name, cells in zip(columns, zip(*rows, strict=False), strict=False)
        if file in (None, name)
    }
    counts = {
        name: len({image for cell in set(cells) for image in images_of.of(cell)})
        for name, cells in cells_of.items()
    }
    # numbers may be the ends of many names, or of a few by chance
    named = {name for name, cells in cells_of.items() if 2 * sum(map(_is_name, cells)) > len(cells)}
    best = max(
        counts, key=lambda name: (bool(counts[name]) and name in named, counts[name]), default=""
    )
    best = best or file or "file"
    count = counts.get(best, 0)
    if count and best not in named and file is None and 2 * count < min(len(rows), len(names)):
        few = f"column {best} names only {count:,} of {len(names):,} images"
        doubt = f"{few}; is this the right table? --file {best} takes it all the same"
        return _Match(table, best, 0, doubt)
    return _Match(table, best, count)


def _beside(folder: Path, names: Sequence[str]) -> tuple[str, int]:
    """The table in the folder above that names most images, and how many; "" if none does.

    Of each table the first rows are read, of those whose first rows name an image all, while they
    have fewer bytes than `_LARGE` together.
    """
    found, left, above = {"": 0}, _LARGE, Path(os.path.abspath(folder)).parent
    images_of = table_files.ImageNames(folder, above / "table", names)
    with suppress(OSError):
        for path in sorted(filter(table_files.is_table, above.iterdir())):
            if not path.is_file() or (folder / path.name).exists():
                continue
            cells = {cell for row in table_files.first_rows(path) for cell in row}
            size = path.stat().st_size
            if size >= left or not any(map(images_of.of, cells)):
                continue
            left -= size
            shown = str(path) if folder.is_absolute() else os.path.relpath(path)
            with suppress(InputError):
                found[shown] = _match(folder, str(path), names, None).images
    best = max(found, key=lambda shown: found[shown])
    return best, found[best]


def _table(
    folder: Path,
    names: Sequence[str],
    best: _Match,
    levels: Mapping[str, list[str]],
    factors: Sequence[str] | None,
    asked: bool,
) -> _Source:
    """The table that names most images as the source of factors.

    Raises:
        InputError: The table or its column was asked for and names no images.
    """
    if not best.table:
        text = "none: the images train, and without factors they are not scored"
        return _Source([("table", text)], {}, [], {})
    settings: dict[str, Any] = {"table": best.table}
    if best.file != "file":
        settings["file"] = best.file
    try:
        rows = table_files.read_table(folder / best.table, best.file, folder, names)
        fault = best.doubt
        if not fault:
            nearest = _nearest(rows, best, PurePosixPath(names[0]).name)
            fault = f"no column names the images as in {names[0]}; {nearest}"
    except InputError as error:
        if best.images:  # the data set refuses it, too: a fault to be mended
            return _Source([("table", f"{best.table} cannot be read")], settings, [], {})
        fault = str(error)
    if not best.images and asked:
        table = os.path.normpath(folder / best.table)
        said = fault.replace(str(folder / best.table), table)
        raise InputError(said if table in said else f"{table} cannot be used: {said}")
    if not best.images:
        doubt = f"{best.table} is left out: {fault}"
        return _Source([("table", f"none: {best.table} is left out")], {}, [doubt], {})
    report = [
        ("table", f"{best.table}: {len(rows):,} rows, whose column {best.file!r} names the images")
    ]
    used = table_files.chosen(rows, best.file, factors, levels)
    if factors is not None:
        settings["factors"] = used
    in_table = [name for name in used if name in rows[0].cells]
    columns, gaps = _columns([row for row in rows if row.file in names], best.file, in_table)
    columns += _level_rows(levels, [name for name in used if name not in in_table])
    listed = {row.file for row in rows}
    absent = [f"{row.file} ({row.line})" for row in rows if not (folder / row.file).is_file()]
    unlisted = [name for name in names if name not in listed]
    report += [
        *columns,
        ("rows without an image", _many(absent)),
        ("images without a row", _many(unlisted)),
        ("images with several rows", _many(table_files.named_twice(rows))),
    ]
    if gaps or unlisted:
        settings["gaps"] = "keep"
    elif absent:
        settings["gaps"] = "drop"
    doubts = list[str]()
    if _MANY * len(absent) > len(rows):
        doubts.append(f"{len(absent):,} of {len(rows):,} rows name no image of {folder}")
    cells = {name: {row.file: row.cells[name] for row in rows} for name in rows[0].cells}
    return _Source(report, settings, doubts, cells)


def _equal_columns(
    levels: Mapping[str, list[str]], names: Sequence[str], columns: Mapping[str, Mapping[str, str]]
) -> dict[str, str]:
    """The levels of subfolders that tell the same of every image as a column, with its name."""
    equal: dict[str, str] = {}
    for level, values in levels.items():
        for column, cells in columns.items():
            pairs = {(value, cells.get(name)) for name, value in zip(names, values, strict=True)}
            if len(pairs) == len(set(values)) == len({cell for _, cell in pairs}) > 1:
                equal.setdefault(level, column)
    return equal


def _nearest(rows: Sequence[table_files.Row], match: _Match, example: str) -> str:
    """What the column that comes nearest to names of images has, and what to write there."""
    columns = {match.file: [row.file for row in rows]}
    columns |= {name: [row.cells[name] for row in rows] for name in rows[0].cells}

    def nearness(name: str) -> tuple[int, bool, int]:
        cells = columns[name]
        measured = any("." in cell and is_number(cell) for cell in cells)
        return sum(map(_is_name, cells)), not measured, len(set(cells))

    nearest = max(columns, key=nearness)
    shown = ", ".join(list(dict.fromkeys(columns[nearest]))[:3])
    return f"{nearest} has {shown}: write the file of each image there, such as {example}"


def _is_name(cell: str) -> bool:
    return Path(cell.strip()).suffix.lower() in SUFFIXES


def _columns(rows: list[table_files.Row], file: str, factors: Sequence[str]) -> tuple[Rows, bool]:
    """A line on each column of factors, and whether a row lacks a value."""
    report: Rows = []
    gaps = bool(table_files.gaps(rows, file, [], {})[0])
    for name in factors:
        lacking, _ = table_files.gaps(rows, file, [name], {})
        complete = [row for row in rows if row.line not in lacking]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                values = table_files.columns(complete, [name], {})
                factor = labelled(values, Traits({}, {}, {})).space.factors[0]
            text = described(factor)
        except (InputError, IndexError) as error:
            text = str(error) if complete else "no values"
        gaps = gaps or bool(lacking)
        missing = f"; no value in {_many(list(lacking))}" if lacking else ""
        report.append((f"column {name}", text + missing))
    return report, gaps


def _tried(
    settings: Mapping[str, Any], names: Sequence[str], unread: Mapping[str, str]
) -> tuple[list[str], list[str], list[str], list[str], FactorSpace | None]:
    """The images that a data set with the settings uses, its errors, warnings, advised factors.

    The last result are its factors, None if it has errors.

    `unread` are the errors of images, which are warnings if the data set does not use the images.
    """
    used, faults, advised, few = list(names), list[str](), list[str](), list[str]()
    space: FactorSpace | None = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            dataset = FolderDataset(**settings)
            used = list(dataset.files)
            space = dataset.factors
            few = of_few(space) if settings["table"] or settings.get("factors") else []
            few += of_equal(space)
            factors = [space[name] for name in space.names if name != INSTANCE]
            equal = equal_factors(space)
            serve = [factor.name for factor in factors if factor.name not in equal]
            advised = serve if len(serve) < len(factors) else []
        except InputError as error:
            faults = [str(error)]
    notes = dict.fromkeys(str(warning.message) for warning in caught)
    refused = [
        error if "remove it" in error else f"{error}; mend or remove it"
        for name, error in unread.items()
        if name in used
    ]
    unused = [error for name, error in unread.items() if name not in used]
    return used, [*refused, *faults], [*unused, *notes, *few], advised, space


def _many(names: Sequence[str]) -> str:
    return f"{len(names):,}: {listing(names)}" if names else "none"


def _groups(copies: Sequence[Sequence[str]]) -> str:
    if not copies:
        return "none"
    names = [" = ".join([*equal[:3], *(["…"] if len(equal) > 3 else [])]) for equal in copies]
    groups = f"{len(copies):,} group{'s' if len(copies) != 1 else ''}"
    return f"{sum(map(len, copies)):,} in {groups}: {listing(names)}"


def _counts(values: Iterable[str]) -> str:
    """Values with their numbers, the most frequent first."""
    return listing([f"{value} ({count:,})" for value, count in Counter(values).most_common()])
