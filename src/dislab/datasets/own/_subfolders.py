"""Subfolders of images: levels that may be factors, and those that part the images."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from dislab.datasets.own._columns import listing
from dislab.factors import are_measured

FOLDER: Final = "folder"
"""Name of the factor whose values are the subfolders of the images; `folder_1` is the first level.
"""

_TESTED: Final = ("test", "testing", "val", "valid", "validation")
_SPLITS: Final = frozenset(("train", "training", *_TESTED))
"""Names of subfolders, in lower case, that part the images and say nothing of them."""


def folder_levels(images: Sequence[str]) -> dict[str, list[str]]:
    """The subfolder of each image as `folder`, and its levels as `folder_1`, … if all have several.

    Args:
        images: Names of the images, relative to their folder.
    """
    parents = [PurePosixPath(name).parent for name in images]
    subfolders = {FOLDER: list(map(str, parents))}
    depths = {len(parent.parts) for parent in parents}
    if len(depths) == 1 and max(depths) > 1:
        levels = zip(*(parent.parts for parent in parents), strict=True)
        subfolders |= {f"{FOLDER}_{number}": list(level) for number, level in enumerate(levels, 1)}
    return subfolders


def are_splits(names: Iterable[str]) -> bool:
    """Whether subfolders have names of splits only, such as `train` and `test`."""
    return {name.lower() for name in names} <= _SPLITS


def tested_split(names: Iterable[str]) -> str | None:
    """The name of the test split among subfolders, else of the validation split, else None."""
    by_lower = {name.lower(): name for name in names}
    return next((by_lower[name] for name in _TESTED if name in by_lower), None)


def _tells_images(level: Sequence[str]) -> bool:
    """Whether nearly every image has a subfolder of its own."""
    return are_measured(len(set(level)), len(level))


class Subfolders(NamedTuple):
    """The levels of subfolders beside the factors that are chosen.

    Attributes:
        levels: The subfolder of each image, by the names of levels that no column has.
        chosen: Names of the factors in use.
        offers: Whether levels that are not chosen are offered as factors.
        equal: Levels that tell the same as a column of the table, with its name; not offered.
    """

    levels: Mapping[str, list[str]]
    chosen: list[str]
    offers: bool
    equal: Mapping[str, str]

    @property
    def offered(self) -> list[str]:
        """The subfolders, or each of their levels, that could be factors, too."""
        names = [name for name in self._several if name != FOLDER and name not in self.splits]
        names = names or [FOLDER] * (FOLDER in self._several and not self.splits)
        taken = {*self.chosen, *self.equal}
        taken |= {name for name in names if _tells_images(self.levels[name])}
        return [name for name in names if self.offers and name not in taken]

    @property
    def splits(self) -> list[str]:
        """The levels whose names are all those of splits, such as train and test."""
        return [name for name in self._several if are_splits(self.levels[name])]

    @property
    def advised(self) -> list[str]:
        """The levels to choose so that images of splits stay apart; empty if they do."""
        mixed = [name for name in self.splits if name not in self.chosen]
        return sorted([*self.offered, *mixed]) if mixed else []

    def rows(self) -> list[tuple[str, str]]:
        """A line of a report on what is offered."""
        known = [name for name in self.equal if name in self._several and name not in self.splits]
        rows = [
            (
                f"subfolders {name}",
                f"tell the same as the column {self.equal[name]}, so are no factor",
            )
            for name in known
            if name not in self.chosen
        ]
        if not (offered := self.offered):
            return rows
        subfolders = self.levels[FOLDER if FOLDER in self.levels else offered[0]]
        counts = Counter(subfolders).most_common()
        return [("subfolders", listing([f"{name} ({count:,})" for name, count in counts])), *rows]

    def parting(self) -> list[str]:
        """How images of splits train and test, apart or mixed."""
        return [self._note(name) for name in self.splits]

    def offers_of_levels(self) -> list[str]:
        """A note on levels that could be factors, unless those of splits are mixed."""
        if self.advised or not (offered := self.offered):
            return []
        them = "the subfolders a factor" if offered == [FOLDER] else "levels of subfolders factors"
        beside = " beside the columns" if self.chosen else ""
        return [f"--factors {' '.join([*self.chosen, *offered])} makes {them}{beside}"]

    @property
    def _several(self) -> list[str]:
        """The levels of more than one subfolder."""
        return [name for name, level in self.levels.items() if len(set(level)) > 1]

    def _note(self, name: str) -> str:
        level = self.levels[name]
        held_out = f"hold_out: {{{name}: {tested_split(level)}}}"
        parts = f"subfolders {' and '.join(sorted(set(level)))}"
        if name in self.chosen:
            return (
                f"{parts}: {name} is not scored; {held_out} in the data, which `dislab configs "
                "new` writes, keeps them apart in training; scores take images of all of them, "
                "with --evaluate.split test those of the test split alone"
            )
        factors = " ".join([*self.chosen, *sorted([*self.offered, name])])
        return (
            f"{parts} are mixed, and training and test drawn from both; --factors {factors} keeps "
            f"them apart by {held_out}, and does not score {name}"
        )
