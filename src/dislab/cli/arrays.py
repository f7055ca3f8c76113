"""Reads arrays from .npz files of any program, and writes their scores."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from dislab.errors import InputError, beside, one_line
from dislab.factors import Factor, FactorSpace, PlainKind, are_measured, check_factor_names
from dislab.storage import atomic, foreign_format, json_text, sha256

_NAMES: Final = ("names", "factor_names")
_VALUES: Final = "values_"


def read_arrays(path: Path, needed: Sequence[str]) -> dict[str, Any]:
    """The arrays of an .npz file by name: the required ones, and the descriptions of factors.

    Raises:
        InputError: The file does not exist, is no .npz file, is damaged, contains Python objects or
            a single array, or lacks an array.
    """
    if not path.is_file():
        raise InputError(f"{path} does not exist{beside(path)}; give an .npz file")
    written = f"numpy.savez(FILE, {', '.join(f'{name}={name}' for name in needed)})"
    if file_format := foreign_format(path):
        raise InputError(
            f"{path} is {file_format}, and .npz files are read; load it in Python, and write its "
            f"arrays by {written}"
        )
    try:
        with path.open("rb") as stream:
            stored = np.load(stream, allow_pickle=False)
            if isinstance(stored, np.ndarray):
                raise InputError(f"{path} holds a single array; {written} writes all of them")
            if missing := [name for name in needed if name not in stored]:
                there = ", ".join(stored) or "nothing"
                lacks = f"{path} has no {' and no '.join(missing)}; it has {there}"
                raise InputError(f"{lacks}; {written} writes what is needed")
            # other arrays may be large, such as the images
            read = [key for key in stored if key in (*needed, *_NAMES) or key.startswith(_VALUES)]
            return {key: _numbered(stored[key]) for key in read}
    except InputError:
        raise
    except Exception as error:  # numpy, zipfile and zlib raise many types of errors
        raise InputError(f"{path} cannot be read as .npz: {_reason(error)}") from error


def _numbered(array: Any) -> Any:
    """The array, with truth values as 0 and 1."""
    return array.astype(np.int64) if array.dtype == bool else array


def names_of(arrays: Mapping[str, Any]) -> list[str] | None:
    """Names of the factors, from the array `names` or `factor_names`; None if both are missing."""
    names = next((arrays[key] for key in _NAMES if key in arrays), None)
    return None if names is None else list(map(str, names.ravel()))


def measured_factors(
    path: Path,
    arrays: Mapping[str, Any],
    names: Sequence[str] | None,
    kinds: Mapping[str, PlainKind],
) -> tuple[Any, dict[str, PlainKind]]:
    """Factors of a file; value numbers of continuous ones are replaced by those in `values_NAME`.

    The kinds come with those of factors that are continuous by such values.

    Raises:
        InputError: Values do not match the factors.
    """
    positions = np.asarray(arrays["factors"])
    if names is None or positions.ndim != 2 or positions.dtype.kind not in "iu":
        return positions, dict(kinds)
    factors = positions.astype(np.float64)
    continuous: dict[str, PlainKind] = {}
    for column, name in enumerate(names[: positions.shape[1]]):
        numbers, values = positions[:, column], arrays.get(f"{_VALUES}{name}")
        if values is None or values.dtype.kind == "U" or not len(numbers) or numbers.min() < 0:
            continue
        measured = are_measured(len(np.unique(numbers)), len(numbers))
        if kinds[name] == "continuous" if name in kinds else measured:
            continuous[name] = "continuous"
            factors[:, column] = _factor(path, name, values, int(numbers.max())).numbers[numbers]
    return factors if continuous else positions, {**kinds, **continuous}


def space_of(path: Path, arrays: Mapping[str, Any]) -> FactorSpace:
    """Factor space described by the arrays of a file, with the combinations of values that occur.

    The arrays are `factors`, optionally `names` or `factor_names`, and `values_NAME` for each
    factor whose values are not 0, 1, 2, ….

    Raises:
        InputError: The factors are no value numbers, or names or values do not match them.
    """
    positions = np.asarray(arrays["factors"])
    if positions.ndim != 2 or 0 in positions.shape or positions.dtype.kind not in "iu":
        raise InputError(
            f"{path}: factors are integers of shape (images, factors) that number the values 0, 1, "
            f"2, …; got {positions.dtype} of shape {positions.shape}"
        )
    if positions.min() < 0:
        raise InputError(f"{path}: factors hold {positions.min()}; they number the values from 0")
    count = positions.shape[1]
    names = names_of(arrays) or [f"factor_{k}" for k in range(count)]
    try:
        check_factor_names(names, count)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
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


def write_record(out: Path, source: Path, record: Mapping[str, Any]) -> None:
    """Writes scores of the codes in a file as JSON, with the path and the checksum of the file."""
    origin = {"path": str(source), "sha256": sha256(source)}
    with atomic(out) as temporary:
        temporary.write_text(json_text({"source": origin, **record}), encoding="utf-8")
    print(out)


def is_record(path: Path, key: str) -> bool:
    """Whether a file was written by `write_record`, with scores that have a part `key`."""
    record = json.loads(path.read_text(encoding="utf-8"))
    return isinstance(record, dict) and {"source", "scores", "sample", key} <= record.keys()


def _reason(error: Exception) -> str:
    reason = one_line(error)
    if "Object arrays" in reason:
        return "it holds Python objects, which are not read; save arrays of numbers"
    if "pickle" in reason:  # numpy treats every unknown format as a pickle
        return "numpy.savez did not write it; Python objects are not read"
    return reason or type(error).__name__


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
