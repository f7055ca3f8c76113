"""Plain arrays as checked codes and factors."""

import math
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.functional.code_bank import CodeBank, checked
from dislab.functional.draws import host_generator

Array: TypeAlias = npt.NDArray[Any] | Tensor | Sequence[Any]
"""Numbers in rows: an array, a tensor or nested lists."""

LARGEST: Final = 100_000
"""Largest value number without a space; a larger one is a name or a measurement, not a number."""


def bank_of(
    codes: Array,
    factors: Array,
    names: Sequence[str] | None,
    space: FactorSpace | None,
    order: int | None,
) -> tuple[CodeBank, FactorSpace]:
    """Checked codes and factors, and the space that the factors are numbered in.

    Args:
        codes: One row an image.
        factors: Value numbers, one row an image.
        names: Names of the factors; `factor_0`, … unless given.
        space: The factors; made of the numbers seen unless given.
        order: Seed of a random order of the images; None keeps theirs.

    Raises:
        InputError: The arrays cannot be scored; the message says why.

    Warns:
        ConstantFactorWarning: Some factors take one value only.
    """
    latent_codes, positions = tensor("codes", codes), tensor("factors", factors)
    if space is not None and names is not None:
        raise InputError("give names or a space, not both: a space has names of its own")
    if space is None:
        space = _space(positions, names)
    bank = checked([latent_codes], [positions], space, least=1)
    if order is None:
        return bank, space
    rows = torch.from_numpy(host_generator(order, len(bank)).permutation(len(bank)))
    rows = rows.to(bank.codes.device)
    return CodeBank(bank.codes[rows], bank.factors[rows], bank.varied), space


def tensor(what: str, array: object) -> Tensor:
    """An array of numbers as a tensor.

    Args:
        what: Its name, for messages.
        array: A tensor, an array, or nested lists.

    Raises:
        InputError: It does not hold numbers, or its rows differ in length.
    """
    if isinstance(array, Tensor):
        return array.detach()
    try:
        values = np.asarray(array)
    except ValueError as error:
        raise InputError(f"{what} are no table: {error}; give rows of equal length") from error
    if values.dtype.kind not in "biufc":
        raise InputError(f"{what} must be numbers, not of type {values.dtype}")
    known = {"u": np.int64, "f": np.float64, "c": np.complex128}
    values = values.astype(known.get(values.dtype.kind, values.dtype.newbyteorder("=")))
    return torch.from_numpy(values)


def _space(positions: Tensor, names: Sequence[str] | None) -> FactorSpace:
    """Factors whose values are the numbers from 0 to the largest one seen."""
    if positions.ndim != 2 or not positions.shape[1]:
        raise InputError(
            f"factors have shape (images, factors), one row an image; got {tuple(positions.shape)}"
        )
    count = positions.shape[1]
    if names is None:
        names = [f"factor_{number}" for number in range(count)]
    names = [str(name) for name in names]
    if len(names) != count:
        raise InputError(f"{len(names)} names for {count} factors: {', '.join(names)}")
    if not len(positions):
        raise InputError("there is no image to score; factors has no rows")
    if positions.is_complex() or positions.dtype == torch.bool:
        raise InputError(f"factors are integers that number the values, not {positions.dtype}")
    _check_numbers(positions, names)
    largest = positions.amax(0).tolist()
    factors = tuple(
        Factor(name, tuple(map(float, range(int(last) + 1))))
        for name, last in zip(names, largest, strict=True)
    )
    if math.prod(map(len, factors)) < 2**63:
        return FactorSpace(factors)
    return FactorSpace(factors, table=np.unique(positions.cpu().numpy(), axis=0))


def _check_numbers(positions: Tensor, names: Sequence[str]) -> None:
    if positions.is_floating_point():
        whole = (positions == positions.floor()).all(0).tolist()
        broken = [name for name, one in zip(names, whole, strict=True) if not one]
        fault = f"{', '.join(broken)} hold others" if broken else "convert them: .astype(int)"
        raise InputError(
            "factors are integers that number the values 0, 1, 2, …, not "
            f"{positions.dtype}; {fault}"
        )
    low, high = positions.amin(0).tolist(), positions.amax(0).tolist()
    for name, least, most in zip(names, low, high, strict=True):
        if least < 0 or most > LARGEST:
            found = least if least < 0 else most
            raise InputError(
                f"factor {name} holds {found}; factors number their values 0, 1, 2, … (at most "
                f"{LARGEST:,}): numpy.unique(column, return_inverse=True)[1] makes such numbers"
            )
