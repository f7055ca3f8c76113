"""Everything about a NumPy file of images at once, and the settings that fit."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from dislab.datasets.own.inspection import (
    Inspection,
    Rows,
    described,
    of_angles,
    of_few,
    of_measured,
)
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
    others = other_arrays(NumpyDataset(**settings))
    fitting = [name for name, reason in others.items() if not reason]
    beside = fitting if path.suffix == ".npy" and factors is None else []
    names = ([] if beside else fitting) if factors is None else list(factors)
    if names:
        settings["factors"] = names[0] if len(names) == 1 else names
    channels, height, width = NumpyDataset(**settings).image_shape
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
    table: Rows = [("factors", "none: the images train, and without factors they are not scored")]
    if names:
        table = [("factors", ", ".join(names))]
    if beside:
        them = "it" if len(beside) == 1 else "them"
        text = f"{', '.join(beside)}; --factors {' '.join(beside)} takes {them} as factors"
        table.append(("arrays beside", text))
    reasons = {} if path.suffix == ".npy" else {n: reason for n, reason in others.items() if reason}
    if reasons:
        unused = ", ".join(f"{name} ({reason})" for name, reason in reasons.items())
        table.append(("other arrays", unused))
    notes += [
        f"{name} has {reason}, and is left out"
        for name, reason in reasons.items()
        if "rows" in reason
    ]
    if names and not faults:
        space = dataset.factors
        notes += [*of_few(space), *of_angles(space)]
        settings |= of_measured(space)
        table += [(f"factor {name}", described(space[name])) for name in space.essential_names]
    return Inspection(
        images=report,
        table=table,
        settings=settings,
        faults=faults,
        notes=notes,
        largest=max(height, width),
        size=(height, width),
        advised=[],
        is_labelled=bool(names),
        offered=beside,
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
