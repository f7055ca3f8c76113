"""Checks of what users give functions of figures."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from dislab.errors import InputError, one_line

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
    origin = get_origin(hint)
    kinds = get_args(hint) if origin is UnionType else (hint,)
    if value is None and NoneType in kinds:
        return None
    tables = [kind for kind in kinds if hasattr(kind, "dim_str")]
    if tables:
        return _table(name, value, tables[0])
    if origin is Mapping:
        if not isinstance(value, Mapping):
            raise _refusal(name, value, "a dictionary, by names")
        inner = get_args(hint)[1]
        if inner is float or hasattr(inner, "dim_str"):
            return {key: _fitting(key, one, inner) for key, one in value.items()}
    if origin is Sequence:
        value = value.tolist() if hasattr(value, "tolist") else value
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise _refusal(name, value, "a list")
    if origin is Iterable and (isinstance(value, str) or not isinstance(value, Iterable)):
        raise _refusal(name, value, "a list")
    if origin is tuple and (
        not isinstance(value, tuple | list) or len(value) != len(get_args(hint))
    ):
        raise _refusal(name, value, f"a list of {len(get_args(hint))}")
    for kind, words in ((str, "text"), (float, "a number"), (Figure, "a figure")):
        if hint is kind and not isinstance(value, Real if kind is float else kind):
            raise _refusal(name, value, words)
    return value


def _table(name: str, value: Any, table: Any) -> npt.NDArray[Any]:
    axes = table.dim_str.split()
    shape = f"({', '.join(axes)}{',' * (len(axes) == 1)})".replace("_", "…")
    found = array(name, value, shape)
    if found.ndim != len(axes) or found.dtype.kind not in "biuf":
        given = f"has shape {found.shape}, type {found.dtype}"
        given = given if found.ndim else f"is {type(value).__name__}"
        raise InputError(f"{name} {given}; give an array of numbers of shape {shape}")
    return found


def _refusal(name: str, value: object, wanted: str) -> InputError:
    return InputError(f"{name} is {type(value).__name__}; it must be {wanted}")
