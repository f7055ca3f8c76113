"""Constructor arguments as plain data, from which a checkpoint rebuilds a model."""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from torch import nn

from dislab.errors import InputError, warn


class LostPartWarning(UserWarning):
    """The model can be trained and saved, but not loaded from its checkpoint alone."""


class Ready:
    """A builder that returns an existing module once; `name` is its argument's name in messages."""

    def __init__(self, module: nn.Module, name: str) -> None:
        self.module = module
        self.name = name
        self._used = False

    def __call__(self, *_: object) -> nn.Module:
        """The module.

        Raises:
            InputError: It was called before, so that two parts would share their weights.
        """
        if self._used:
            raise InputError(
                f"{self.name} is built more than once, so that one module is not enough; pass its "
                "class, or a functools.partial of the class"
            )
        self._used = True
        return self.module


def describe(value: Any, name: str = "the argument") -> Any:
    """A value as numbers, strings, lists and dictionaries.

    Classes and `functools.partial`s of classes become `{class_path: …, init_args: {…}}`, as in a
    configuration file.

    Args:
        value: A constructor argument, or a container of them.
        name: Name of the value in messages.

    Raises:
        InputError: The value is a function or another object that a checkpoint cannot store.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, np.generic):
        return value.item()
    for plain in (int, float, str):  # stores an enumeration member as its plain value
        if isinstance(value, plain):
            return plain(value)
    if isinstance(value, Mapping):
        return {str(key): describe(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(describe(item, name) for item in value)
    if isinstance(value, type):
        return {"class_path": _path(value)}
    if isinstance(value, Ready):
        return {"class_path": _path(type(value.module)), "ready": True}
    if isinstance(value, functools.partial) and (cls := _made_by(value)) is not None:
        return {"class_path": _path(cls), "init_args": describe(value.keywords, name)}
    raise InputError(
        f"{name}: {value!r} cannot be stored in a checkpoint; pass a class or a functools.partial "
        "of a class with keyword arguments instead of a function or an object"
    )


def classes_in(values: Iterable[Any]) -> dict[str, type]:
    """The classes contained in constructor arguments, by the paths that `describe` gives them.

    Args:
        values: Classes, partials, and containers of them; other values are skipped.
    """
    classes: dict[str, type] = {}
    for value in values:
        if isinstance(value, Mapping):
            classes |= classes_in(value.values())
        elif isinstance(value, list | tuple):
            classes |= classes_in(value)
        elif isinstance(value, type):
            classes[_path(value)] = value
        elif isinstance(value, functools.partial) and (cls := _made_by(value)) is not None:
            classes[_path(cls)] = cls
            classes |= classes_in(value.keywords.values())
    return classes


def warn_of_lost(cls: type, hparams: Mapping[str, Any]) -> None:
    """Warns once if classes of a model cannot be imported by their names later.

    Args:
        cls: The class of the model.
        hparams: Its arguments as plain data.
    """
    lost = [f"objective={cls.__name__}"] if _is_lost(_path(cls)) else []
    lost += _lost(hparams, "")
    if lost:
        warn(
            "a checkpoint of this model cannot be loaded by itself, because a class defined in a "
            "function, notebook or script cannot be imported later; put it in an importable file, "
            f"or pass it: load_run(run, {', '.join(lost)})",
            LostPartWarning,
        )


def _lost(value: Any, key_path: str) -> list[str]:
    """Arguments of `load_run` for the classes that cannot be imported by name."""
    if not isinstance(value, Mapping):
        return []
    if isinstance(path := value.get("class_path"), str):
        if _is_lost(path):
            return [handed_over(key_path, path.rpartition(".")[2])]
        return _lost(value.get("init_args"), key_path)
    return [
        entry_path
        for key, inner in value.items()
        for entry_path in _lost(inner, f"{key_path}.{key}" if key_path else str(key))
    ]


def handed_over(key_path: str, part: str) -> str:
    """The argument of `load_run` that passes a part for a setting, such as `regularizers.tc`.

    >>> handed_over("regularizers.tc", "MyPenalty")
    "regularizers={'tc': MyPenalty}"
    """
    name, _, entry = key_path.partition(".")
    return f"{name}={{{entry!r}: {part}}}" if entry else f"{name}={part}"


def _is_lost(path: str) -> bool:
    return "<locals>" in path or path.startswith("__main__.")


def _made_by(builder: functools.partial[Any]) -> type | None:
    """The class of a `partial` that holds only a class and keyword arguments; None for others."""
    if isinstance(builder.func, type):
        return None if builder.args else builder.func
    if not builder.func.__module__.startswith("jsonargparse"):
        return None
    # jsonargparse passes partials of its own functions, with the class as an argument
    return next((part for part in builder.args if isinstance(part, type)), None)


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
