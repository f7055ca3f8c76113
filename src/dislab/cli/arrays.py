"""Arrays in .npz files of any program."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace

_VALUES: Final = "values_"


def read_arrays(path: Path, needed: Sequence[str]) -> dict[str, Any]:
    """The arrays of an .npz file by their names.

    Args:
        path: The file.
        needed: Names of arrays that it must have.

    Raises:
        InputError: It does not exist, is damaged, holds Python objects, or lacks an array.
    """
    if not path.is_file():
        raise InputError(f"{path} does not exist; give an .npz file")
    try:
        with path.open("rb") as stream:
            stored = np.load(stream, allow_pickle=False)
            found = dict(stored) if isinstance(stored, np.lib.npyio.NpzFile) else {}
    except Exception as error:  # numpy, zipfile and zlib raise half a dozen types
        said = " ".join(str(error).split())
        if "pickle" in said:
            said = "it holds Python objects, which are not read; save arrays of numbers"
        raise InputError(
            f"{path} cannot be read as .npz: {said or type(error).__name__}"
        ) from error
    if missing := [name for name in needed if name not in found]:
        there = ", ".join(found) or "a single array"
        raise InputError(f"{path} has no {' and no '.join(missing)}; it has {there}")
    return found


def space_of(path: Path, arrays: Mapping[str, Any]) -> FactorSpace:
    """The factors that the arrays of a file describe, with the combinations of values that occur.

    Args:
        path: The file, for messages.
        arrays: Its arrays: `factors`, perhaps `names` or `factor_names`, and `values_NAME` for each
            factor whose values are not 0, 1, 2, ….

    Raises:
        InputError: The factors are no value numbers, or names or values do not fit them.
    """
    positions = np.asarray(arrays["factors"])
    if positions.ndim != 2 or 0 in positions.shape or positions.dtype.kind not in "iu":
        raise InputError(
            f"{path}: factors are integers of shape (images, factors) that number the values 0, 1, "
            f"2, …; got {positions.dtype} of shape {positions.shape}"
        )
    if positions.min() < 0:
        raise InputError(f"{path}: factors hold {positions.min()}; they number the values from 0")
    given = next((arrays[key] for key in ("names", "factor_names") if key in arrays), None)
    count = positions.shape[1]
    names = [f"factor_{k}" for k in range(count)] if given is None else list(map(str, given))
    if len(names) != count:
        raise InputError(f"{path}: {len(names)} names for {count} factors: {', '.join(names)}")
    unknown = {key.removeprefix(_VALUES) for key in arrays if key.startswith(_VALUES)} - {*names}
    if unknown:
        raise InputError(
            f"{path} has values of {', '.join(sorted(unknown))}, and no such factor; the factors "
            f"are {', '.join(names)}"
        )
    factors = tuple(
        _factor(path, name, arrays.get(f"{_VALUES}{name}"), int(last))
        for name, last in zip(names, positions.max(0), strict=True)
    )
    return FactorSpace(factors, np.unique(positions, axis=0))


def _factor(path: Path, name: str, values: Any, last: int) -> Factor:
    if values is None:
        return Factor(name, tuple(map(float, range(last + 1))))
    if values.ndim != 1 or len(values) <= last or values.dtype.kind not in "iufU":
        raise InputError(
            f"{path}: {_VALUES}{name} is {values.dtype} of shape {values.shape}; it holds the "
            f"{last + 1} values of {name} or more, as numbers or texts"
        )
    if values.dtype.kind == "U":
        return Factor(name, tuple(map(str, values)), "categorical")
    return Factor(name, tuple(map(float, values)))
