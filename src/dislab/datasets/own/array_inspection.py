"""Everything about a NumPy file of images at once, and the settings that fit."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from dislab.datasets.own._factor_notes import (
    described,
    of_angles,
    of_equal,
    of_few,
    of_measured,
    other_factors,
)
from dislab.datasets.own.inspection import Inspection, Rows
from dislab.datasets.own.numpy_dataset import NumpyDataset, other_arrays
from dislab.errors import InputError

ARRAYS: Final = (".npy", ".npz")
"""Suffixes of the files of arrays."""


def inspect_arrays(
    path: Path,
    factors: Sequence[str] | None = None,
    keep: bool = True,
    images: str | None = None,
) -> Inspection:
    """Reads all images of a file, and their factors.

    Args:
        path: The npy or npz file of the images.
        factors: The arrays of factors, as `NumpyDataset` takes them; unless given, those of an npz
            file that have one row for each image.
        keep: Whether images without a value of some factor are to be kept.
        images: The array of the images in an npz file; the only one that may be unless given.

    Raises:
        InputError: The file has no images.
    """
    settings: dict[str, Any] = {"file": str(path)}
    if images is not None:
        settings["images"] = images
    plain = NumpyDataset(**settings)
    others = other_arrays(plain)
    fitting = [name for name, reason in others.items() if not reason]
    reasons = {name: text for name, text in others.items() if text and plain.is_archive}
    names, offered = list(factors or ()), list[str]()
    if factors is None:  # files beside a npy file may be of anything
        names, offered = (fitting, []) if plain.is_archive else ([], fitting)
    if names:
        settings["factors"] = names[0] if len(names) == 1 else names
    channels, height, width = plain.image_shape
    left_out = list[str]()
    if names and factors is None:
        whole, faults, _ = _tried({**settings, "gaps": "keep"})
        if not faults:
            numbers = whole.image_ids(np.arange(whole.count))["rows"]
            columns, left_out = other_factors(whole.factors, np.argsort(numbers), names)
            names = columns or names
            settings["factors"] = names[0] if len(names) == 1 else names
    dataset, faults, notes = _tried(settings)
    if faults and keep and names:  # perhaps of images without a value
        keeping = _tried({**settings, "gaps": "keep"})
        if keeping[1] != faults:
            settings["gaps"] = "keep"
            dataset, faults, notes = keeping
    report = [
        ("images", f"{dataset.count:,}"),
        ("sizes", f"{width}×{height}"),
        ("modes", "L" if channels == 1 else "RGB"),
        ("pixels", dataset.pixel_type),
    ]
    table = _array_rows(names, offered, reasons)
    decided = [
        *left_out,
        *(
            f"{name} has {reason}, and is left out"
            for name, reason in reasons.items()
            if "rows" in reason
        ),
    ]
    if offered:
        them = "the array beside a factor" if len(offered) == 1 else "the arrays beside factors"
        notes.append(f"--factors {' '.join(offered)} makes {them}")
    scored = list[str]()
    if names and not faults:
        space = dataset.factors
        scored = list(space.essential_names)
        notes += [*of_few(space), *of_equal(space)]
        decided += of_angles(space)
        settings |= of_measured(space)
        table += [(f"factor {name}", described(space[name])) for name in scored]
    return Inspection(
        images=report,
        table=table,
        settings=settings,
        faults=faults,
        notes=[*notes, *decided],
        decided=decided,
        factors=scored,
        largest=max(height, width),
        size=(height, width),
        advised=offered or (names if left_out and names != fitting else []),
        is_labelled=bool(names),
        offered=offered,
        beside="",
        dataset="NumpyDataset",
        copies=[],
    )


def _array_rows(names: Sequence[str], offered: Sequence[str], reasons: Mapping[str, str]) -> Rows:
    """Lines on the arrays of factors, on files that may hold some, and on the other arrays."""
    none = "none: the images train, and without factors they are not scored"
    rows = [("factors", ", ".join(names) or none)]
    if offered:
        rows.append(("arrays beside", ", ".join(offered)))
    if reasons:
        unused = ", ".join(f"{name} ({reason})" for name, reason in reasons.items())
        rows.append(("other arrays", unused))
    return rows


def _tried(settings: dict[str, Any]) -> tuple[NumpyDataset, list[str], list[str]]:
    """The data set with some settings, its error if it has one, and its warnings."""
    dataset, faults = NumpyDataset(**settings), list[str]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            _ = dataset.factors
            dataset.prepare()
        except InputError as error:
            faults = [str(error)]
    return dataset, faults, list(dict.fromkeys(str(warning.message) for warning in caught))
