"""Pictures of a data set: sample images, and a traversal of each factor."""

from typing import Final

import numpy as np
import torch
from matplotlib.figure import Figure

from dislab import plots
from dislab.base import Dataset, is_vector
from dislab.errors import InputError
from dislab.factors import MISSING, Factor, FactorSpace, Indices
from dislab.functional.checks import check_count
from dislab.functional.random import host_generator

COLUMNS: Final = 10
MOST_IMAGES: Final = 1000
MOST: Final = 20
"""Maximum number of factors on a sheet of traversals."""


def check_images(images: int) -> None:
    """Rejects a number of images that no sheet can show."""
    check_count("images", images, 1, most=MOST_IMAGES)


def sample_sheet(dataset: Dataset, images: int = 40) -> Figure:
    """Images of random states, the same on every call; all images of a small data set.

    Raises:
        InputError: The number of images is 0 or too large, or the channels are not 1 or 3.
    """
    check_images(images)
    count = len(dataset.factors)
    states = np.arange(min(count, images))
    if count > images:
        states = host_generator(0).integers(count, size=images)
    columns = min(COLUMNS, len(states))
    rows = [states[start : start + columns] for start in range(0, len(states), columns)]
    return _figure(dataset, rows, ())


def traversal_sheet(dataset: Dataset) -> Figure:
    """One row per factor, in which only this factor changes.

    For a complete grid, the other factors are fixed at their middle values. Circular factors start
    at 0, and several factors on the same circle, such as hues, are spread over it so that they
    differ. For an incomplete grid, each row takes the longest series of states that differ only in
    this factor; for a factor without such a series, others change too, and the label states this.

    Raises:
        InputError: The images have neither one nor three channels.
    """
    space = dataset.factors
    rows, labels = [], []
    for column, factor in list(enumerate(space.factors))[:MOST]:
        states, alone = _line(space, column)
        rows.append(states[_spread(len(states))])
        labels.append(_label(factor) + ("" if alone else " (others change)"))
    return _figure(dataset, rows, labels)


def _line(space: FactorSpace, column: int) -> tuple[Indices, bool]:
    """States along a factor in the order of its values, and whether other factors stay fixed."""
    if space.table is None:
        line = np.tile(_middle(space), (space.sizes[column], 1))
        line[:, column] = np.arange(space.sizes[column])
        return space.index(line), True
    states = np.arange(len(space))
    states = states[space.positions(states)[:, column] != MISSING]
    positions = space.positions(states)
    others = np.delete(positions, column, axis=1)
    _, group, size = np.unique(others, axis=0, return_inverse=True, return_counts=True)
    rows = np.flatnonzero(group.reshape(-1) == size.argmax())
    alone = len(rows) > 1 or space.sizes[column] == 1
    if not alone:
        _, rows = np.unique(positions[:, column], return_index=True)
    return states[rows[np.argsort(positions[rows, column])]], alone


def _middle(space: FactorSpace) -> Indices:
    """Middle value of each factor; circular ones start at 0, spread evenly on equal circles."""
    middle = np.asarray(space.sizes) // 2
    for column, factor in enumerate(space.factors):
        if factor.kind == "circular":
            alike = [each.name for each in space.factors if each.values == factor.values]
            middle[column] = round(alike.index(factor.name) * len(factor) / len(alike))
    return middle


def _spread(count: int) -> Indices:
    return np.linspace(0, count - 1, min(count, COLUMNS)).round().astype(np.int64)


def _label(factor: Factor) -> str:
    first, last = factor.values[0], factor.values[-1]
    if isinstance(first, str):
        return f"{factor.name}: {first} … {last}"
    unit = f" {factor.unit}" if factor.unit else ""
    return f"{factor.name}: {first:.3g} … {last:.3g}{unit}"


def _figure(dataset: Dataset, rows: list[Indices], labels: list[str] | tuple[()]) -> Figure:
    channels, height, width = dataset.image_shape
    if is_vector(dataset.image_shape):
        raise InputError("the data are vectors, of which there are no pictures")
    if channels not in (1, 3):
        raise InputError(f"images of {channels} channels cannot be shown; one or three can")
    sheet = np.ones((len(rows), max(map(len, rows)), channels, height, width))
    for row, states in zip(sheet, rows, strict=True):
        row[: len(states)] = dataset.images(torch.from_numpy(states)).numpy() / 255
    return plots.image_grid(sheet, labels)
