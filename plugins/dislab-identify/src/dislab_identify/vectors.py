"""Base of the data sets of vectors, and the factors of their rows."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.base import Dataset, ImageShape
from dislab.factors import UNLABELLED, Factor, FactorSpace, Kind, are_measured

Columns = Mapping[str, npt.NDArray[Any]]
"""Values of each factor, one per row, by the factor's name."""


class Content(NamedTuple):
    """Vectors and their factors.

    Attributes:
        vectors: Finite numbers, shape (row, feature).
        factors: The factors; state i is row i.
    """

    vectors: npt.NDArray[np.float32]
    factors: FactorSpace


class Vectors(Dataset, ABC):
    """Rows of numbers, which reach networks as (batch, feature, 1, 1) without rounding.

    A concrete class implements `content`.
    """

    @cached_property
    @abstractmethod
    def content(self) -> Content:
        """The vectors and their factors, made or read once."""

    @property
    def factors(self) -> FactorSpace:
        """The factors; state i is row i."""
        return self.content.factors

    @property
    def image_shape(self) -> ImageShape:
        """Number of features, 1, 1."""
        return (self.content.vectors.shape[1], 1, 1)

    def prepare(self) -> None:
        """Makes or reads the vectors."""
        _ = self.content

    def tables(self) -> dict[str, Tensor]:
        """The vectors as `vectors`, one per row."""
        return {"vectors": torch.from_numpy(self.content.vectors)}

    def gather(
        self, tables: dict[str, Tensor], index: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch feature 1 1"]:
        """Vectors by row number."""
        return tables["vectors"][index][:, :, None, None]


def space_of(columns: Columns, rows: int) -> FactorSpace:
    """Factors of rows: continuous if nearly every row has another number, else ordinal.

    Without columns the only factor is the row number. Rows with equal factors are distinguished by
    a last factor `instance`, which scores ignore.

    Args:
        columns: Finite values by name.
        rows: Number of rows.
    """
    if not columns:
        return FactorSpace((Factor(UNLABELLED, tuple(map(float, range(rows))), nuisance=True),))
    factors, positions = [], []
    for name, column in columns.items():
        values, position = np.unique(column, return_inverse=True)
        kind: Kind = "continuous" if are_measured(len(values), rows) else "ordinal"
        factors.append(Factor(name, tuple(values.astype(float).tolist()), kind))
        positions.append(position)
    table = np.stack(positions, axis=1).astype(np.int64)
    instance = _instances(table)
    if count := int(instance.max()):
        name = next(name for name in ("instance", "instance_") if name not in columns)
        factors.append(Factor(name, tuple(map(float, range(count + 1))), nuisance=True))
        table = np.column_stack([table, instance])
    return FactorSpace(tuple(factors), table)


def _instances(table: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many earlier rows equal each row."""
    _, group = np.unique(table, axis=0, return_inverse=True)
    group = group.ravel()
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    sizes = np.diff(np.append(starts, len(ordered)))
    instance = np.empty(len(table), dtype=np.int64)
    instance[order] = np.arange(len(table)) - np.repeat(starts, sizes)
    return instance
