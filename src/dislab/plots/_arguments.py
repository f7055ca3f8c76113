"""Checks of what users give functions of figures."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError, one_line
from dislab.naming.settings import check_kind, is_number

P = ParamSpec("P")
R = TypeVar("R")


def takes_tables(function: Callable[P, R]) -> Callable[P, R]:
    """Lets a function of arrays take lists and tensors, too, and refuse other arguments.

    Args:
        function: A function whose annotations give the axes of its arrays.
    """
    signature = inspect.signature(function)
    hints = functools.cache(lambda: get_type_hints(inspect.unwrap(function)))

    @functools.wraps(function)
    def taking(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            bound.arguments[name] = _fitting(name, value, hints()[name])
        return function(*bound.args, **bound.kwargs)

    return taking


def array(name: str, values: Any, shape: str) -> npt.NDArray[Any]:
    """An array, tensor on any device, table or nested lists as an array.

    Args:
        name: Of the argument.
        values: Its value.
        shape: The shape to ask for in the message.

    Raises:
        InputError: The rows have different lengths.
    """
    try:
        return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    except ValueError as error:
        raise InputError(f"{name}: {one_line(error)}; give an array of shape {shape}") from error


def _fitting(name: str, value: Any, hint: Any) -> Any:
    """An argument, converted if it is an array; refused if it does not fit the annotation."""
    kinds = get_args(hint) if get_origin(hint) is UnionType else (hint,)
    if value is None and NoneType in kinds:
        return None
    tables = [kind for kind in kinds if hasattr(kind, "dim_str")]
    if tables:
        return _table(name, value, tables[0])
    if get_origin(hint) is Sequence and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping) and get_origin(hint) is Mapping:
        of_entry = get_args(hint)[1]
        return {key: _fitting(str(key), entry, of_entry) for key, entry in value.items()}
    if not (hint is float and is_number(value, Real)):  # NaN is drawn as missing
        check_kind(name, value, hint)
    return value


def _table(name: str, value: Any, table: Any) -> npt.NDArray[Any]:
    axes = table.dim_str.split()
    shape = f"({', '.join(axes)}{',' * (len(axes) == 1)})".replace("_", "…")
    rows = array(name, value, shape)
    if rows.ndim != len(axes) or rows.dtype.kind not in "biuf":
        fault = f"has shape {rows.shape}, type {rows.dtype}"
        fault = fault if rows.ndim else f"is {type(value).__name__}"
        raise InputError(f"{name} {fault}; give an array of numbers of shape {shape}")
    return rows
