"""Conversion of plain arrays to checked codes and factors."""

import math
from collections.abc import Mapping, Sequence
from numbers import Number
from pathlib import Path
from typing import Any, Final, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int, Shaped
from torch import Tensor

from dislab.codes.bank import CodeBank, checked
from dislab.codes.checks import checked_codes
from dislab.codes.statistics import check_groups, first_components
from dislab.errors import InputError, one_line, suggestion, warn
from dislab.factors import (
    Factor,
    FactorSpace,
    FactorWarning,
    PlainKind,
    are_measured,
    check_factor_names,
    column_names,
    warn_of_measured,
)
from dislab.functional.checks import check_choice
from dislab.functional.random import host_generator

Array: TypeAlias = npt.ArrayLike | Tensor | Sequence[Any]
"""Rows of numbers, one per image: an array, a tensor, a table or nested lists."""

Groups: TypeAlias = Sequence[Sequence[int]]
"""Columns of each vector-valued latent, such as `[[0, 1], [2, 3]]`."""

_INSTANCE: Final = "instance"
"""Name of the factor that data sets add to number images of equal values."""

LARGEST: Final = 100_000
"""Largest allowed value number; a larger integer is a label or a measurement."""


def bank_of(
    codes: Array,
    factors: Array,
    names: Sequence[str] | None,
    space: FactorSpace | None,
    order: int | None,
    kinds: Mapping[str, str] | None = None,
    groups: Groups | None = None,
) -> tuple[CodeBank, FactorSpace]:
    """Checked codes and factors, and the factor space.

    The arguments are those of `evaluate`; `order` is the seed of a random order of the images, None
    keeps their order.
    """
    names = column_names(factors) if names is None and space is None else names
    classes: dict[int, tuple[str, ...]] = {}
    if space is None:
        factors, classes = _without_texts(factors, names)
    latent_codes, positions = _latents(tensor("codes", codes), groups), tensor("factors", factors)
    if positions.dtype == torch.bool:
        positions = positions.to(torch.int64)
    if space is not None and (names is not None or kinds is not None):
        raise InputError(
            "give names and kinds, or a space, not both: a space has names and kinds of its own"
        )
    if space is None:
        space, positions = _numbered(positions, names, kinds or {}, classes)
    bank = checked([latent_codes], [positions], space, least=1)
    if order is None:
        return bank, space
    rows = torch.from_numpy(host_generator(order, len(bank)).permutation(len(bank)))
    return bank.in_order(rows.to(bank.codes.device)), space


def _latents(codes: Tensor, groups: Groups | None) -> Tensor:
    """Codes with one column per latent."""
    if codes.ndim == 3 and codes.shape[1] and codes.shape[2]:
        if groups is not None:
            raise InputError(
                f"codes of shape {tuple(codes.shape)} hold one vector per latent; leave out groups"
            )
        _, latents, columns = codes.shape
        groups = [range(first * columns, (first + 1) * columns) for first in range(latents)]
        codes = codes.flatten(1)
    if groups is None:
        return codes
    checked = checked_codes([codes])
    check_groups(groups, checked.shape[1])
    return first_components(checked, groups)


def tensor(what: str, array: object) -> Tensor:
    """An array or nested lists of numbers as a tensor; `what` names it in messages."""
    if isinstance(array, Tensor):
        return array.detach()
    if refusal := _no_table(array):
        raise InputError(f"{what} are {refusal}")
    try:
        values = np.asarray(array)
    except ValueError as error:
        raise InputError(
            f"{what} are no table: {one_line(error)}; give rows of equal length"
        ) from error
    if values.dtype.kind == "O" and not values.ndim:
        raise InputError(
            f"{what} are an object of {type(array).__name__}; give one row for each image, as "
            "open_run(RUN).encode() does"
        )
    if values.dtype.kind not in "biufc":
        advice = "numpy.unique(column, return_inverse=True)[1] numbers the names of a column"
        if values.dtype.kind == "O" and all(isinstance(value, Number) for value in values.flat):
            advice = f"{what}.astype(float) makes them so"
        columns = "".join(f", as in column {name!r}" for name in _texts(array)[:1])
        raise InputError(f"{what} must be numbers, not of type {values.dtype}{columns}; {advice}")
    types = {"u": np.int64, "f": np.float64, "c": np.complex128}
    values = values.astype(types.get(values.dtype.kind, values.dtype.newbyteorder("=")))
    return torch.from_numpy(values)


def _no_table(array: object) -> str:
    """What an object is that is no table of numbers, and the remedy; empty for others."""
    if array is None:
        return "None; give one row for each image"
    if isinstance(array, str | Path):
        run = repr(str(array)) if Path(array).is_dir() else "RUN"
        return (
            f"{str(array)!r}; a run is read by open_run, as in evaluate(open_run({run}).encode()), "
            "and a file by numpy.load"
        )
    if isinstance(array, Mapping):
        return "a dictionary; pandas.DataFrame makes a table of columns"
    if hasattr(array, "codes") and hasattr(array, "factors"):
        return f"{type(array).__name__}, which holds two tables; give its codes and its factors"
    return ""


def _without_texts(
    factors: Array, names: Sequence[str] | None
) -> tuple[Array, dict[int, tuple[str, ...]]]:
    """Factors with the texts of a column as numbers, and the sorted texts by column number.

    Texts that are all numbers, such as those of an array of mixed columns, become these numbers.
    """
    if isinstance(factors, Tensor) or _no_table(factors):
        return factors, {}
    try:
        if np.asarray(factors).dtype.kind not in "OUT":
            return factors, {}
        table = np.asarray(factors, dtype=object)
    except ValueError:  # rows of different lengths
        return factors, {}
    if table.ndim not in (1, 2):
        return factors, {}
    columns, classes = [], {}
    for index, column in enumerate(table.reshape(len(table), -1).T):
        are_texts = [isinstance(value, str) for value in column]
        if any(are_texts) and not all(are_texts):
            name = names[index] if names and index < len(names) else f"factor_{index}"
            other = column[are_texts.index(False)]
            raise InputError(
                f"factor {name} holds texts, and {other!r}, which is no text; give the text of "
                "each image, and leave out images whose factors are unknown"
            )
        numbers: Any = np.array(column.tolist())
        if all(are_texts):
            try:
                numbers = numbers.astype(np.float64)
            except ValueError:
                texts, numbers = np.unique(numbers, return_inverse=True)
                classes[index] = tuple(map(str, texts))
        columns.append(numbers)
    if not columns or any(column.dtype.kind not in "biuf" for column in columns):
        return factors, {}
    return np.stack(columns, axis=1).reshape(table.shape), classes


def _texts(array: object) -> list[object]:
    """Names of the columns of a table of pandas that hold no numbers."""
    kinds = getattr(array, "dtypes", {})
    items = kinds.items() if hasattr(kinds, "items") else ()  # polars has a list
    return [name for name, kind in items if getattr(kind, "kind", "f") not in "biufc"]


def _numbered(
    table: Tensor,
    names: Sequence[str] | None,
    kinds: Mapping[str, str],
    classes: Mapping[int, tuple[str, ...]],
) -> tuple[FactorSpace, Tensor]:
    """The factor space of a table of numbers, and the positions of its rows.

    `classes` has the names of values, by column number.
    """
    if table.ndim != 2 or not table.shape[1]:
        remedy = "; factors[:, None] makes them one factor" if table.ndim == 1 else ""
        raise InputError(
            "factors have shape (images, factors), one row per image; got "
            f"{tuple(table.shape)}{remedy}"
        )
    if names is None:
        names = [f"factor_{index}" for index in range(table.shape[1])]
    names = [str(name) for name in names]
    _check_table(table, names, kinds)
    pairs, measured = [], {}
    for index, (name, column) in enumerate(zip(names, table.T, strict=True)):
        kind = cast("PlainKind | None", kinds.get(name))
        if index in classes:
            factor = _named_factor(name, classes[index], kind, len(column))
            pairs.append((factor, column.to(torch.int64)))
            continue
        if kind is None and are_measured(different := len(column.unique()), len(column)):
            measured[name], kind = different, "continuous"
        pairs.append(_factor(name, column, kind))
    warn_of_measured(measured, dict.fromkeys(measured, len(table)), {})
    if _INSTANCE in names:
        warn(
            f"{_INSTANCE} is scored as a factor; if it is the number that a data set gives to "
            "images of equal values, give space=dataset.factors in place of names, or leave its "
            "column out",
            FactorWarning,
        )
    factors, positions = (
        tuple(factor for factor, _ in pairs),
        torch.stack([factor for _, factor in pairs], 1),
    )
    if math.prod(map(len, factors)) < 2**63:
        return FactorSpace(factors), positions
    return FactorSpace(factors, table=np.unique(positions.cpu().numpy(), axis=0)), positions


def _check_table(table: Tensor, names: Sequence[str], kinds: Mapping[str, str]) -> None:
    """Refuses names and kinds that do not fit the columns, and columns that hold no numbers."""
    advice = ", or, for positions of a data set, space=dataset.factors instead of names"
    if len(names) + 1 == table.shape[1]:
        advice += "; the last column may be instance, which numbers images of equal values"
    check_factor_names(names, table.shape[1], advice=advice)
    if not len(table):
        raise InputError("factors has no rows; give the factors of at least one image")
    if table.is_complex():
        raise InputError("factors are complex numbers; give real ones, such as angles")
    for name in kinds:
        if name not in names:
            hint = suggestion(name, names)
            raise InputError(
                f"kinds names {name!r}{hint}, which is no factor; they are {', '.join(names)}"
            )
        if kinds[name] == "circular":
            raise InputError(
                f"kinds: {name} is circular, and its period is missing; give "
                "space=FactorSpace([Factor(name, values, 'circular', period=…), …]) instead"
            )
        check_choice(f"the kind of {name}", kinds[name], get_args(PlainKind))
    for name, broken in zip(names, (~table.isfinite()).sum(0).tolist(), strict=True):
        if broken:
            raise InputError(
                f"factor {name} holds NaN or infinity in {broken} of {len(table)} images; leave "
                "out images whose factors are unknown"
            )


def _named_factor(name: str, texts: tuple[str, ...], kind: PlainKind | None, images: int) -> Factor:
    """A factor whose values are names; refuses names that only tell images apart."""
    if kind is None and are_measured(len(texts), images):
        raise InputError(
            f"factor {name} has {len(texts):,} different texts in {images:,} images, such as "
            f"{texts[-1]!r}; leave it out, or, if each is a class, say kinds={{{name!r}: "
            "'categorical'}"
        )
    return Factor(name, texts, kind or "categorical")


def _factor(
    name: str, column: Shaped[Tensor, " image"], kind: PlainKind | None
) -> tuple[Factor, Int[Tensor, " image"]]:
    """One factor and the positions of the images; integers from 0 are taken as value numbers."""
    values, positions = torch.unique(column, return_inverse=True)
    numbers = tuple(map(float, values.tolist()))
    if kind == "continuous":
        return Factor(name, numbers, kind), positions
    integral = bool((column == column.to(torch.int64)).all())
    if integral and numbers[0] >= 0 and numbers[-1] <= LARGEST:
        counted = tuple(map(float, range(int(numbers[-1]) + 1)))
        return Factor(name, counted, kind or "ordinal"), column.to(torch.int64)
    if column.is_floating_point() or kind is not None:
        return Factor(name, numbers, kind or "ordinal"), positions
    outside = numbers[0] if numbers[0] < 0 else numbers[-1]
    raise InputError(
        f"factor {name} holds {outside:.0f}, but integers must be value numbers from 0 to "
        f"{LARGEST:,}; get them from numpy.unique(column, return_inverse=True)[1], or name the "
        "factor in kinds if its integers are values"
    )
