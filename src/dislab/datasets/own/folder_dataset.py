"""Images of your own, in a folder."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, NamedTuple, final, get_args

import numpy as np
import numpy.typing as npt

from dislab.base import ImageShape
from dislab.datasets.bank.banked import BankedDataset, Pictures
from dislab.datasets.files.image_files import (
    check_fit,
    equal_files,
    files_below,
    fingerprint,
    read_image,
    read_rows,
)
from dislab.datasets.own import _factor_table as table_files
from dislab.datasets.own._columns import Gapped, Traits, labelled, listing, unlabelled
from dislab.datasets.own._subfolders import are_splits, folder_levels, tested_split
from dislab.errors import InputError, missing, warn
from dislab.factors import FactorSpace, GapWarning, Indices, Kind
from dislab.functional.checks import check_choice

_COUNTED: Final = 20_000
"""Number of images up to which equal files are counted, for which files are read."""
_KEEP: Final = ", or to keep to train on images without values"

FolderGaps = Literal["refuse", "drop", "keep"]
"""What happens to rows without a value or an image, and to images without a row."""


@final
class FolderDataset(BankedDataset):
    """Images of your own: a folder of them, and a table of factor values if you have one.

    The table has one row per image. The column `file`, or another one that you name, gives its path
    relative to the folder or to the table, or the end of its path; the others are factors. Any set
    of combinations of values is possible. Columns of numbers are ordinal, or circular if they have
    a period; columns of names are categorical. A column with more than 20 different numbers, and
    more than half as many as rows, contains measurements: its factor is continuous, and a message
    names it. If images have equal values, an additional last factor `instance` distinguishes them.
    Without a table, the only factor is the image number; such images can be used for training and
    pictures, but not for scores.

    The images are converted once and stored in the cache folder; if the name, the size or the time
    of one of them changes, they are converted again.

    Args:
        folder: Folder of the images, which may be in subfolders.
        table: A table separated by commas, semicolons or tabs, or a Parquet file (with `pip install
            'dislab[parquet]'`), relative to the folder; null for images without a table.
        factors: Columns to use as factors; all except that of the files unless given. With or
            without a table, `folder` makes the subfolders of the images the values of a factor, and
            `folder_1`, `folder_2` each of the first two levels of subfolders, unless the table has
            a column of that name. Subfolders whose names are all those of splits, such as `train`
            and `test`, make a nuisance factor, which scores leave out and `hold_out: {folder_1:
            test}` may select; named in `kinds`, it is scored.
        kinds: `ordinal`, `categorical`, `circular` or `continuous`, by factor, if different from
            the default, such as `{size: categorical}`; as an option,
            `--data.dataset.kinds.size categorical`.
        units: Units of numeric values, by factor.
        periods: Period of each circular factor, or of a continuous one that is periodic, by factor,
            in its unit, such as `{angle: 360}`; as an option, `--data.dataset.periods.angle 360`.
        gaps: Whether to refuse or drop rows without a value or an image, images without a row, and,
            without a table, files that are neither images nor tables; `keep` also drops rows
            without an image and such files, and keeps images without values: they train, and
            `LabelFit` uses the values they have, but they are neither scored nor selected by what
            is missing.
        side: Height and width in pixels to resize all images to, by area averaging; their own
            unless given.
        colour: `keep` accepts 8-bit grey and RGB images; `grey` and `rgb` also convert others.
        fit: Treatment of non-square images when resizing to `side`: `squash` distorts them, `crop`
            keeps the central square, `pad` adds black borders. Crop and pad need a side.
        file: The column of the table that names the images, with or without their suffix.
        copies: Whether to `keep` all of equal files, which may fall into training and test, or to
            `drop` all but the first, in the order of the rows, or else of the names; those with
            values of all factors come first.

    Raises:
        InputError: The side is below 1, or missing for `fit`.
    """

    licence: ClassVar[str] = "yours"
    contents: ClassVar[str] = "your images, and the factors of your table"
    cache: ClassVar[str] = "folder_dataset"

    def __init__(
        self,
        folder: str,
        table: str | None = "factors.csv",
        factors: list[str] | None = None,
        kinds: dict[str, Kind] | None = None,
        units: dict[str, str] | None = None,
        periods: dict[str, float] | None = None,
        gaps: FolderGaps = "refuse",
        side: int | None = None,
        colour: Literal["keep", "grey", "rgb"] = "keep",
        fit: Literal["squash", "crop", "pad"] = "squash",
        file: str = "file",
        copies: Literal["keep", "drop"] = "keep",
    ) -> None:
        check_fit(side, fit)
        check_choice("gaps", gaps, get_args(FolderGaps))
        self.folder = folder
        self.table = table
        self.columns = factors
        self.traits = Traits(kinds or {}, units or {}, periods or {})
        self.gaps: FolderGaps = gaps
        self.side = side
        self.colour = colour
        self.fit = fit
        self.file = file
        check_choice("copies", copies, ("keep", "drop"))
        self.copies = copies

    @property
    def factors(self) -> FactorSpace:
        """The factors of the table in the order of its columns.

        Raises:
            InputError: The table cannot be used, or does not match the folder.
        """
        return self._layout.space

    @property
    def files(self) -> tuple[str, ...]:
        """Name of each image, relative to the folder, in the order of the states.

        Raises:
            InputError: As for `factors`.
        """
        return tuple(self._layout.files)

    @property
    def held_out(self) -> dict[str, str]:
        """The `hold_out` that makes a subfolder the test split; empty without a level of splits.

        Raises:
            InputError: As for `factors`.
        """
        for factor in self.factors.factors:
            parts = [value for value in factor.values if isinstance(value, str)]
            if factor.nuisance and len(parts) > 1 and (test := tested_split(parts)):
                return {factor.name: test}
        return {}

    def image_ids(self, index: Indices) -> dict[str, npt.NDArray[Any]]:
        """The names of images as `files`."""
        return {"files": np.array([self._layout.files[state] for state in index], dtype=np.str_)}

    @cached_property
    def image_shape(self) -> ImageShape:
        """Channels, height and width of the first image.

        Raises:
            InputError: It cannot be read, or the table cannot be used.
        """
        first = Path(self.folder).expanduser() / self._layout.files[0]
        channels, height, width = read_image(first, self.side, self.colour, self.fit).shape
        return (channels, height, width)

    def provenance(self) -> dict[str, str]:
        """Folder and table, fingerprint of the files, checksum of the images.

        Raises:
            InputError: The images have not been prepared, or changed later.
        """
        return {**super().provenance(), "folder": self.folder, "table": self.table or "none"}

    @cached_property
    def equal_files(self) -> int:
        """Number of files with the bytes of another one; 0 for more than 20,000 images.

        It is 0, too, if a file has gone since it was read.

        Raises:
            InputError: As for `factors`.
        """
        files = self._layout.files
        if self.copies == "drop" or len(files) > _COUNTED:
            return 0
        with suppress(OSError):
            return sum(map(len, equal_files(Path(self.folder).expanduser(), files)))
        return 0

    @cached_property
    def _layout(self) -> "_Layout":
        folder = Path(self.folder).expanduser()
        if not folder.is_dir():
            content = "the folder of the images"
            raise InputError(f"the folder {missing(folder, 'folder', content)}")
        images, others = files_below(folder)
        if self.table is None:
            others = [name for name in others if not table_files.is_table(name)]
            complaint = "is no image" if len(others) == 1 else "are no images"
            self._refuse(others, f"{listing(others)} in {folder} {complaint}")
            if not images:
                raise InputError(f"{folder} holds no images")
            images = self._without_copies(folder, images)
            if self.columns is None:
                return _Layout(unlabelled(len(images)), images)
            levels = folder_levels(images)
            if not self.columns or not levels.keys() >= set(self.columns):
                raise InputError(
                    f"factors are {', '.join(self.columns) or 'empty'}, and there is no table; "
                    f"without one they may be {' and '.join(levels)}, the subfolders of the images"
                )
            return self._laid_out({}, levels, self.columns, images)
        rows = table_files.read_table(folder / self.table, self.file, folder, images)
        names = table_files.chosen(rows, self.file, self.columns, folder_levels(images))
        in_table = [name for name in names if name in rows[0].cells]
        rows = self._complete(rows, folder, images, in_table)
        lacking, _ = table_files.gaps(rows, self.file, in_table, self.traits.kinds)
        ordered = sorted(rows, key=lambda row: row.line in lacking)
        kept = {*self._without_copies(folder, [row.file for row in ordered])}
        rows = [row for row in rows if row.file in kept]
        columns = table_files.columns(rows, in_table, self.traits.kinds)
        files = [row.file for row in rows]
        levels = folder_levels(files)  # a table may name images by links of other depths
        names = table_files.chosen(rows, self.file, self.columns, levels)
        return self._laid_out(columns, levels, names, files)

    def _laid_out(
        self,
        columns: Mapping[str, Gapped],
        levels: Mapping[str, list[str]],
        names: Sequence[str],
        files: Sequence[str],
    ) -> "_Layout":
        """Factors from columns of the table, and from levels of subfolders for the other names."""
        chosen = {name: columns[name] if name in columns else levels[name] for name in names}
        space, order = labelled(chosen, self.traits)
        scored = {*columns, *self.traits.kinds}
        factors = tuple(
            replace(factor, nuisance=True)
            if factor.name in levels.keys() - scored and are_splits(map(str, factor.values))
            else factor
            for factor in space.factors
        )
        return _Layout(FactorSpace(factors, space.table), [files[index] for index in order])

    def _complete(
        self,
        rows: list[table_files.Row],
        folder: Path,
        images: Sequence[str],
        names: Sequence[str],
    ) -> list[table_files.Row]:
        """Rows with an image and all values of `names`; others are dropped or rejected."""
        keeps = self.gaps == "keep"
        lacking, hint = table_files.gaps(rows, self.file, names, self.traits.kinds)
        lines = [
            f"{line} ({', '.join(lacking_columns)})" for line, lacking_columns in lacking.items()
        ]
        complaint = f"{self.table} lacks values in {listing(lines)}"
        self._refuse(lines, complaint, _KEEP + hint)
        if hint:
            effect = "keep takes them for missing" if keeps else "drop leaves these rows out"
            warn(f"{complaint}; gaps: {effect}{hint}", GapWarning)
        dropped = {line for line, empty in lacking.items() if not keeps or self.file in empty}
        rows = [row for row in rows if row.line not in dropped]
        if twice := table_files.named_twice(rows):
            raise InputError(
                f"several rows name the same image: {listing(twice)}; remove all but one of each"
            )
        listed = {row.file: row for row in rows}
        absent = {name for name in listed if not (folder / name).is_file()}
        lines = [f"{name} ({row.line})" for name, row in listed.items() if name in absent]
        self._refuse(lines, f"{folder} lacks images that have a row: {listing(lines)}")
        unlisted = sorted(set(images) - set(listed))
        if unlisted:  # a table may name a folder by another link
            paths = {_real(folder / name) for name in listed}
            unlisted = [name for name in unlisted if _real(folder / name) not in paths]
        self._refuse(unlisted, f"{self.table} has no row for {listing(unlisted)}", _KEEP)
        if len(absent) == len(listed):
            raise InputError(f"{folder} and {self.table} have no image in common")
        if keeps:
            cells = dict.fromkeys(rows[0].cells, "")
            listed |= {name: table_files.Row(f"image {name}", name, cells) for name in unlisted}
        return [row for name, row in listed.items() if name not in absent]

    def _without_copies(self, folder: Path, names: list[str]) -> list[str]:
        """The names without those of files that equal an earlier one, if copies are dropped."""
        if self.copies == "keep":
            return names
        dropped = {name for equal in equal_files(folder, names) for name in equal[1:]}
        return [name for name in names if name not in dropped]

    def _refuse(self, faults: Sequence[str], complaint: str, hint: str = "") -> None:
        if faults and self.gaps == "refuse":
            raise InputError(
                f"{complaint}; mend that, or set gaps to drop to go without them{hint}"
            )

    def _pictures(self) -> Pictures:
        folder, files = Path(self.folder).expanduser(), self._layout.files
        settings = f"{folder.resolve()}\0{self.table}\0{self.side}\0{self.colour}"
        if self.fit != "squash":
            settings += f"\0{self.fit}"
        if self.copies == "drop":
            settings += "\0one of equal files"
        key = hashlib.sha256(settings.encode()).hexdigest()[:12]
        name = f"folder_dataset/{folder.resolve().name}-{key}"
        origin = {
            "source": "folder",
            "files": fingerprint(folder, files),
            "side": str(self.side),
            "colour": self.colour,
            **({} if self.fit == "squash" else {"fit": self.fit}),
        }
        shape = self.image_shape
        rows = partial(read_rows, folder, files, shape, self.side, self.colour, self.fit)
        return Pictures(name, len(files), origin, rows)


def _real(path: Path) -> str:
    """A path without links to folders."""
    return os.path.join(os.path.realpath(path.parent), path.name)


class _Layout(NamedTuple):
    """The factors, and the file of each state."""

    space: FactorSpace
    files: list[str]
