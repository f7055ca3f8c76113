"""Images with all combinations of factor values, and their codes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float

from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace, Indices, check_factor_names
from dislab.runs import checkpoint_of, open_run, origin

MOST_VALUES: Final = 100
"""Largest number of values of a factor that is predicted or intervened on."""

Codes = Float[np.ndarray, "image latent"]


class Observations(NamedTuple):
    """What downstream tasks need of a model and its data.

    Attributes:
        space: The factors with the values that occur, and the combinations that exist.
        codes: Function from state numbers of `space` to codes.
        images: Function from state numbers to pixels in [0, 1]; None without images.
        origin: Where they come from, for records.
    """

    space: FactorSpace
    codes: Callable[[Indices], Codes]
    images: Callable[[Indices], Float[np.ndarray, "image channel height width"]] | None = None
    origin: dict[str, Any] = {}  # noqa: RUF012


def of_arrays(
    codes: npt.ArrayLike, factors: npt.ArrayLike, names: Sequence[str] = ()
) -> Observations:
    """Observations from arrays with one row per image.

    Of several images with equal factors the first one counts.

    Args:
        codes: Codes, shape (image, latent).
        factors: Whole numbers, one column per factor, shape (image, factor).
        names: Names of the factors; `factor_0` and so on unless given.

    Raises:
        InputError: Shapes do not match, codes are not finite, or factors are no whole numbers.
    """
    rows, labels = np.asarray(codes), np.asarray(factors)
    if rows.ndim != 2 or labels.ndim != 2 or len(rows) != len(labels) or not rows.size:
        raise InputError(
            f"codes have shape {rows.shape} and factors {labels.shape}; they are (image, latent) "
            "and (image, factor) of the same images, at least one"
        )
    if rows.dtype.kind not in "fiub" or not np.isfinite(rows).all():
        raise InputError("codes must be finite real numbers; leave out rows with NaN or infinity")
    if labels.dtype.kind not in "iu":
        raise InputError(f"factors must be whole numbers, not {labels.dtype}; number the values")
    names = tuple(names) or tuple(f"factor_{column}" for column in range(labels.shape[1]))
    check_factor_names(names, labels.shape[1])
    every = [
        Factor(name, tuple(map(float, np.unique(column))))
        for name, column in zip(names, labels.T, strict=True)
    ]
    space, first = _space(every, labels)
    kept = rows[first].astype(np.float32)
    return Observations(space, lambda states: kept[states])


def of_run(run: str | Path, batch_size: int = 256) -> Observations:
    """Observations of a finished run: the images of its data, without nuisance factors.

    Args:
        run: The run folder.
        batch_size: Number of images encoded at a time.

    Raises:
        InputError: The folder is no run, its data cannot be obtained, or the method has no codes.
    """
    opened = open_run(run)
    if not opened.model.has_codes:
        raise InputError(f"{run}: {type(opened.model).__name__} has no codes to predict from")
    states = opened.data.factors.complete(opened.data.indices("all"))
    factors = opened.data.factors
    essential = list(factors.essential)
    positions = factors.positions(states)[:, essential]
    space, first = _space([factors.factors[column] for column in essential], positions)
    kept = states[first]

    def codes(numbers: Indices) -> Codes:
        unique, rows = np.unique(numbers, return_inverse=True)
        return opened.encode(states=kept[unique], batch_size=batch_size).codes[rows]

    def images(numbers: Indices) -> Float[np.ndarray, "image channel height width"]:
        index = torch.from_numpy(kept[numbers]).to(opened.model.device)
        return opened.data.images(index).float().cpu().numpy()

    source = origin(opened.model, opened.data, checkpoint_of(run))
    return Observations(space, codes, images, source)


def _space(
    factors: Sequence[Factor], positions: npt.NDArray[np.integer[Any]]
) -> tuple[FactorSpace, Indices]:
    """The space of the values that occur, and the first row of each of its states."""
    columns = [np.unique(column, return_inverse=True) for column in positions.T]
    table = np.stack([numbers for _, numbers in columns], 1)
    unique, first = np.unique(table, axis=0, return_index=True)
    reduced = [
        factor
        if len(factor) == len(values)
        else replace(factor, values=tuple(factor.values[value] for value in values))
        for factor, (values, _) in zip(factors, columns, strict=True)
    ]
    return FactorSpace(tuple(reduced), unique), first
