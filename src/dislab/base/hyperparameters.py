"""Constructor arguments as plain data, so that a checkpoint can rebuild what it holds."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from dislab.errors import InputError


def describe(value: Any, name: str = "the argument") -> Any:
    """A value as numbers, strings, lists and dictionaries.

    Classes and `functools.partial`s of classes become `{class_path: …, init_args: {…}}`, which is
    how a configuration file writes them.

    Args:
        value: A constructor argument, or a container of them.
        name: What a message calls the value.

    Raises:
        InputError: The value is a function or another object that a checkpoint cannot store.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, np.generic):
        return value.item()
    for plain in (int, float, str):  # an enumeration's member is stored as what it stands for
        if isinstance(value, plain):
            return plain(value)
    if isinstance(value, Mapping):
        return {str(key): describe(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(describe(item, name) for item in value)
    if isinstance(value, type):
        return {"class_path": _path(value)}
    if isinstance(value, functools.partial) and (made := _made_by(value)) is not None:
        return {"class_path": _path(made), "init_args": describe(value.keywords, name)}
    raise InputError(
        f"{name}: {value!r} cannot be stored in a checkpoint; pass a class or a functools.partial "
        "of a class with keyword arguments instead of a function or an object"
    )


def _made_by(builder: functools.partial[Any]) -> type | None:
    """The class of a partial that holds nothing but a class and keyword arguments."""
    if isinstance(builder.func, type):
        return None if builder.args else builder.func
    if not builder.func.__module__.startswith("jsonargparse"):
        return None
    # jsonargparse hands over partials of its own functions, with the class as an argument
    return next((part for part in builder.args if isinstance(part, type)), None)


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
