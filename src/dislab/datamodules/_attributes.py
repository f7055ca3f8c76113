"""Attributes: named parts of the values of a factor, such as `shape=heart` or `posX=low`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError, suggestion
from dislab.factors import Factor, FactorSpace, Indices, Selection
from dislab.functional.checks import check_count

_PARTS: Final = {1: ("any",), 2: ("low", "high"), 3: ("low", "middle", "high")}


class Attributes:
    """The attribute of each value of each factor.

    `described` maps each factor to its attributes, as conditions on its values. If it is None,
    every varying factor except nuisance factors is described: ordinal and circular factors are
    divided into `parts` attributes, categorical ones have one per value. Rejects unknown factors or
    values, overlapping attributes, no attributes, and `parts` below 1.
    """

    def __init__(
        self, space: FactorSpace, described: Mapping[str, Selection | None] | None, parts: int
    ) -> None:
        check_count("parts", parts, 1)
        if described is None:
            described = dict.fromkeys(
                factor.name for factor in space.factors if len(factor) > 1 and not factor.nuisance
            )
        if not described:
            raise InputError("attributes is empty; name at least one factor to describe")
        self.columns = [space.column(name) for name in described]
        self.names: list[str] = []
        self.of_value = np.full((len(described), max(space.sizes)), -1, dtype=np.int64)
        """Attribute number by described factor and value number; -1 for none."""
        for row, (name, conditions) in enumerate(described.items()):
            for label, admitted in _labelled(space[name], conditions, parts):
                values = self.of_value[row, : len(admitted)]
                if (values[admitted] >= 0).any():
                    raise InputError(
                        f"attributes of factor {name} overlap: {label} and another one share "
                        "values; a value has one attribute at most"
                    )
                values[admitted] = len(self.names)
                self.names.append(f"{name}={label}")

    def of(self, positions: Indices) -> Indices:
        """Attributes of states by their value numbers: one column per described factor, or -1."""
        return self.of_value[np.arange(len(self.columns)), positions[:, self.columns]]

    def symbols(self, attributes: Indices) -> npt.NDArray[np.float32]:
        """k-hot vectors, one row per state, of attributes as returned by `of`."""
        symbols = np.zeros((len(attributes), len(self.names) + 1), dtype=np.float32)
        symbols[np.arange(len(attributes))[:, None], attributes] = 1  # -1 is the last column
        return symbols[:, :-1]

    def concepts(self, combinations: Sequence[Sequence[str]]) -> Indices:
        """Combinations of names such as `shape=heart`, one row each, in the columns of `of`.

        Each must name attributes of at least two factors, one per factor.
        """
        owner = {
            attribute: row for row in range(len(self.columns)) for attribute in self.of_value[row]
        }
        concepts = np.full((len(combinations), len(self.columns)), -1, dtype=np.int64)
        for concept, names in zip(concepts, combinations, strict=True):
            for name in names:
                if name not in self.names:
                    hint = suggestion(name, self.names)
                    raise InputError(
                        f"no attribute is named {name!r}{hint}; the attributes are "
                        f"{', '.join(self.names)}"
                    )
                attribute = self.names.index(name)
                concept[owner[attribute]] = attribute
            if len(names) < 2 or (concept >= 0).sum() < len(names):
                raise InputError(
                    f"{list(names)} is no combination; give attributes of two factors or more, "
                    "one of each"
                )
        return concepts


def _labelled(
    factor: Factor, conditions: Selection | None, parts: int
) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
    if conditions:
        for label, condition in conditions.items():
            yield label, factor.allowed(condition)
    elif factor.kind == "categorical":
        for index, value in enumerate(factor.values):
            yield str(value), np.arange(len(factor)) == index
    else:
        parts = min(parts, len(factor))
        part = np.arange(len(factor)) * parts // len(factor)
        for index, label in enumerate(_PARTS.get(parts, map(str, range(1, parts + 1)))):
            yield label, part == index
