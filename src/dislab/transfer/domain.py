"""Codes of images with their factors, and the targets of predictors."""

from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from dislab.codes.checks import checked_codes, checked_factors, rows_advice
from dislab.errors import InputError
from dislab.factors import UNLABELLED, Factor, FactorSpace, Indices

Array: TypeAlias = npt.NDArray[Any] | Tensor
"""Array or tensor of numbers with one row per image."""


@final
class Domain(NamedTuple):
    """Codes of images of one distribution, by one or several encoders.

    Attributes:
        codes: Shape (image, latent), or (run, image, latent) for several runs.
        factors: Value numbers, shape (image, factor).
        space: The factors and their values.
        values: Exact values of the factors in their units, shape (image, factor), if they are not
            on the grid of `space`; else None.
    """

    codes: Array
    factors: Array
    space: FactorSpace
    values: npt.NDArray[np.float64] | None = None

    def checked(self, runs: int | None = None) -> "Domain":
        """Returns the domain with float32 codes of shape (run, image, latent) and int64 factors.

        Args:
            runs: Required number of runs; None for any number.

        Raises:
            InputError: Shapes do not match, codes are not finite, or factors are missing or no
                value numbers of the space.
        """
        if self.space.names == (UNLABELLED,):
            raise InputError(
                "transfer compares codes with factors, and these images have none; give the data "
                "set a table of factors"
            )
        codes = _tensor(self.codes)
        stacked = codes[None] if codes.ndim == 2 else codes
        if stacked.ndim != 3 or 0 in stacked.shape:
            raise InputError(
                "codes have shape (image, latent), or (run, image, latent) for several runs; got "
                f"{tuple(codes.shape)}"
            )
        if runs is not None and len(stacked) != runs:
            raise InputError(
                f"there are {runs} runs, and codes of {len(stacked)} for another data set"
            )
        # one run at a time, so that a message on broken codes counts those of one run
        stacked = torch.stack([checked_codes([run]) for run in stacked])
        factors = checked_factors([_tensor(self.factors)], self.space).cpu()
        if len(factors) != stacked.shape[1]:
            raise InputError(
                f"there are codes of {stacked.shape[1]} images, but factors of {len(factors)}; "
                f"{rows_advice(stacked.shape[1:], factors.shape)}"
            )
        if self.values is not None and self.values.shape != tuple(factors.shape):
            raise InputError(
                f"exact values of shape {self.values.shape} do not fit factors of shape "
                f"{tuple(factors.shape)}"
            )
        return Domain(stacked.float(), factors.numpy(), self.space, self.values)


class Column(NamedTuple):
    """One target.

    Attributes:
        factor: The factor to predict, with its values in training.
        classes: Number of classes; 0 for a numeric target, which is scaled to [0, 1].
    """

    factor: Factor
    classes: int


def columns_of(space: FactorSpace, positions: Indices) -> tuple[list[Column], list[str]]:
    """Targets that the training images allow, and names of factors that are constant in them.

    A factor with numeric values is regressed, a categorical one classified, and a categorical one
    with numeric values both. Nuisance factors are left out.
    """
    columns, constant = [], []
    for index, factor in enumerate(space.factors):
        if factor.nuisance:
            continue
        if (positions[:, index] == positions[0, index]).all():
            constant.append(factor.name)
            continue
        if _numeric(factor):
            columns.append(Column(factor, 0))
        if factor.kind == "categorical":
            columns.append(Column(factor, len(factor)))
    return columns, constant


def targets_of(columns: list[Column], domain: Domain, rows: Indices) -> list[Tensor | None]:
    """Targets of some images, each of shape (image,); None for a factor that the domain lacks.

    Numbers are scaled by the range of the factor in training, independent of its range in this
    domain. Classes are matched by the names of their values.
    """
    return [_target(column, domain, rows) for column in columns]


def _tensor(array: Array) -> Tensor:
    if isinstance(array, Tensor):
        return array.detach()
    values = np.asarray(array)
    if values.dtype.kind not in "biuf":
        raise InputError(f"codes and factors must be numbers, not of type {values.dtype}")
    return torch.from_numpy(np.ascontiguousarray(values))


def _target(column: Column, domain: Domain, rows: Indices) -> Tensor | None:
    name = column.factor.name
    if name not in domain.space.names:
        return None
    column_index = domain.space.column(name)
    here = domain.space.factors[column_index]
    if _numeric(here) != _numeric(column.factor):
        return None
    positions = np.asarray(domain.factors)[rows, column_index]
    if column.classes:
        return _classes(column.factor, here, positions)
    values = here.numbers[positions] if domain.values is None else domain.values[rows, column_index]
    numbers = column.factor.numbers
    scaled: npt.NDArray[np.float64] = (values - numbers.min()) / np.ptp(numbers)
    return torch.from_numpy(scaled)


def _classes(trained: Factor, here: Factor, positions: Indices) -> Tensor | None:
    """Class numbers as in training; None if a value has no class there."""
    class_of = {value: index for index, value in enumerate(trained.values)}
    numbers = np.array([class_of.get(value, -1) for value in here.values])[positions]
    return torch.from_numpy(numbers.astype(np.float64)) if (numbers >= 0).all() else None


def _numeric(factor: Factor) -> bool:
    return not isinstance(factor.values[0], str)
