"""What predictors learn: factors in [0, 1], and classes of kinds."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from dislab.factors import Factor, FactorSpace, Indices
from dislab.transfer.domain import Domain


class Column(NamedTuple):
    """One target.

    Attributes:
        factor: The factor that is learnt, with the values it has in training.
        classes: How many classes it has; 0 for a number, which is scaled to [0, 1].
    """

    factor: Factor
    classes: int


def columns_of(space: FactorSpace, positions: Indices) -> tuple[list[Column], list[str]]:
    """What can be learnt from some images, and which factors cannot, as they never vary.

    A factor whose values are numbers is regressed, a kind is classified, and a kind whose values
    are numbers both. Nuisance factors are left out.

    Args:
        space: The factors of training.
        positions: Value numbers of the images that predictors learn from.
    """
    columns, constant = [], []
    for number, factor in enumerate(space.factors):
        if factor.nuisance:
            continue
        if (positions[:, number] == positions[0, number]).all():
            constant.append(factor.name)
            continue
        if _numeric(factor):
            columns.append(Column(factor, 0))
        if factor.kind == "categorical":
            columns.append(Column(factor, len(factor)))
    return columns, constant


def targets_of(columns: list[Column], domain: Domain, rows: Indices) -> list[Tensor | None]:
    """The targets of some images, each of shape (image,); None for one that they do not have.

    Numbers are scaled by the range that the factor declares in training, whatever the range of
    this domain. Kinds are matched by the names of their values.

    Args:
        columns: What was learnt.
        domain: Checked codes and factors, in a space of their own.
        rows: Which images.
    """
    return [_target(column, domain, rows) for column in columns]


def _target(column: Column, domain: Domain, rows: Indices) -> Tensor | None:
    name = column.factor.name
    if name not in domain.space.names:
        return None
    number = domain.space.column(name)
    here = domain.space.factors[number]
    if _numeric(here) != _numeric(column.factor):
        return None
    positions = np.asarray(domain.factors)[rows, number]
    if column.classes:
        return _classes(column.factor, here, positions)
    values = here.numbers[positions] if domain.values is None else domain.values[rows, number]
    numbers = column.factor.numbers
    scaled: npt.NDArray[np.float64] = (values - numbers.min()) / np.ptp(numbers)
    return torch.from_numpy(scaled)


def _classes(trained: Factor, here: Factor, positions: Indices) -> Tensor | None:
    """Class numbers as training counts them; None where a value has no class there."""
    known = {value: number for number, value in enumerate(trained.values)}
    numbers = np.array([known.get(value, -1) for value in here.values])[positions]
    return torch.from_numpy(numbers.astype(np.float64)) if (numbers >= 0).all() else None


def _numeric(factor: Factor) -> bool:
    return not isinstance(factor.values[0], str)
