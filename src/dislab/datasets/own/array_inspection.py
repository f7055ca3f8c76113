"""Everything about a NumPy file of images at once, and the settings that fit."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from dislab.datasets.own.inspection import Inspection, Rows, described
from dislab.datasets.own.numpy_dataset import NumpyDataset, other_arrays
from dislab.errors import InputError

ARRAYS: Final = (".npy", ".npz")
"""Suffixes of the files of arrays."""


def inspect_arrays(
    path: Path, factors: Sequence[str] | None = None, keep: bool = True
) -> Inspection:
    """Reads all images of a file, and their factors.

    Args:
        path: The npy or npz file of the images.
        factors: The arrays of factors, as `NumpyDataset` takes them; unless given, those of an npz
            file that have one row for each image.
        keep: Whether images without a value of some factor are to be kept.

    Raises:
        InputError: The file has no images.
    """
    others = other_arrays(path)
    names = [name for name, fits in others.items() if fits] if factors is None else list(factors)
    settings: dict[str, Any] = {"file": str(path)}
    if names:
        settings["factors"] = names[0] if len(names) == 1 else names
    channels, height, width = NumpyDataset(**settings).image_shape
    dataset, faults, notes = _tried(settings)
    if faults and keep and names:  # perhaps of images without a value
        settings["gaps"] = "keep"
        dataset, faults, notes = _tried(settings)
    images = [
        ("images", f"{dataset.count:,}"),
        ("sizes", f"{width}×{height}"),
        ("modes", "L" if channels == 1 else "RGB"),
        ("pixels", dataset.pixel_type),
    ]
    table: Rows = [("factors", "none: the images train, and without factors they are not scored")]
    if names:
        table = [("factors", ", ".join(names))]
    if unused := [name for name, fits in others.items() if not fits]:
        table.append(("other arrays", f"{', '.join(unused)}: not a number or text for each image"))
    if names and not faults:
        space = dataset.factors
        table += [(f"factor {name}", described(space[name])) for name in space.essential_names]
    largest, labelled = max(height, width), bool(names)
    return Inspection(
        *(images, table, settings, faults, notes, largest, dataset.count, []),
        labelled=labelled,
        dataset="NumpyDataset",
    )


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
