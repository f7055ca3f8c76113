"""Identify the part that caused an error from the frames of its traceback."""

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from inspect import getargvalues, isclass, signature
from itertools import dropwhile
from pathlib import Path
from types import FrameType
from typing import Final

import torch

from dislab.errors import InputError, TrainingError, cannot_write, one_line, suggestion

_NOUNS: Final = {
    "Encoder": "encoder",
    "Decoder": "decoder",
    "Regularizer": "regulariser",
    "Objective": "objective",
    "DataModule": "data module",
    "Dataset": "data set",
    "Metric": "score",
    "Predictor": "predictor",
}
"""Nouns for the base classes, by class name."""

_LIBRARIES: Final = ("torch", "lightning", "torchmetrics", "jaxtyping")
"""Libraries whose methods parts inherit; their frames name no part."""

_LONGEST: Final = 60
"""Largest number of characters of a setting in a message."""


_NOT_OF_PARTS: Final = (InputError, TrainingError, MemoryError, torch.OutOfMemoryError)
"""Errors that already have clear messages and are not mistakes in a part."""


@contextmanager
def parts_named(arguments: str = "") -> Iterator[None]:
    """Turns an error raised in a part of another distribution into a message about that part.

    The message names the part, the error, the line that raised it, and `arguments`, those of
    the part. Errors in dislab's own parts are bugs of dislab and keep their traceback.
    """
    try:
        yield
    except _NOT_OF_PARTS:
        raise
    except Exception as error:  # third-party code may raise anything
        if cannot_write(error) or (message := failure(error)) is None:
            raise
        raise InputError(message + arguments) from error


def message_of(error: BaseException) -> str:
    """Class and message of an error, in one line; with the attribute that was meant, if one was."""
    text = one_line(error)
    if isinstance(error, AttributeError) and error.name:
        text += suggestion(error.name, dir(error.obj))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def described(part: object) -> str:
    """Group, class and module of a part, such as `the encoder TinyEncoder (mykit.parts)`."""
    cls = type(part)
    return f"the {_noun(part) or 'part'} {cls.__name__} ({cls.__module__})"


def failure(error: BaseException, with_dislab: bool = False) -> str | None:
    """A message about the innermost part in an error's traceback; None if there is none.

    Parts of dislab are named only if `with_dislab` is set.
    """
    left_out = _LIBRARIES if with_dislab else ("dislab", *_LIBRARIES)
    while not (parts := list(_parts_in(error, left_out))):
        if error.__cause__ is None or isinstance(error.__cause__, _NOT_OF_PARTS):
            return None
        error = error.__cause__  # a library wrapped the original error
    part, frame, line = parts[-1]
    location, inner = _location(frame, line), _innermost(error, frame)
    if _location(*inner) != location:
        location = f"{_location(*inner)}, from {location}"
    doing = frame.f_code.co_name
    if call := _uncalled(part, error):
        return f"{described(part)} does not call {call}; call it first in __init__ ({location})"
    how = f"cannot be made with {_settings(frame)}" if doing == "__init__" else f"failed in {doing}"
    return f"{described(part)} {how}: {message_of(error)} ({location})"


def _parts_in(
    error: BaseException, left_out: tuple[str, ...]
) -> Iterator[tuple[object, FrameType, int]]:
    """Parts whose methods are in the traceback, outermost first, each with its frame and line."""
    for frame, line in traceback.walk_tb(error.__traceback__):
        names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
        part = frame.f_locals.get(names[0]) if names else None
        if _package(frame) not in left_out and _noun(part):
            yield part, frame, line


def _innermost(error: BaseException, start: FrameType) -> tuple[FrameType, int]:
    """The last frame of the traceback that is of the package of `start`, and its line."""
    frames = dropwhile(lambda entry: entry[0] is not start, traceback.walk_tb(error.__traceback__))
    *_, last = (entry for entry in frames if _package(entry[0]) == _package(start))
    return last


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _location(frame: FrameType, line: int) -> str:
    return f"{Path(frame.f_code.co_filename).name}, line {line}"


def _noun(part: object) -> str | None:
    for cls in type(part).__mro__:
        if cls.__module__.startswith("dislab.base.") and cls.__name__ in _NOUNS:
            return _NOUNS[cls.__name__]
    return None


def _settings(frame: FrameType) -> str:
    names, _, _, values = getargvalues(frame)
    texts = [f"{name}={_text(values.get(name))[:_LONGEST]}" for name in names[1:]]
    return ", ".join(texts) or "no settings"


def _text(value: object) -> str:
    """A setting in a message; what makes a part, by the name of its class."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_text(inner)}' for key, inner in value.items())}}}"
    makers = (value.func, *value.args) if isinstance(value, partial) else (value,)
    return next((maker.__name__ for maker in makers if isclass(maker)), repr(value))


def _uncalled(part: object, error: BaseException) -> str:
    """The call of a base's constructor that PyTorch found missing; empty if it found none."""
    if not str(error).endswith("before Module.__init__() call"):
        return ""
    base = type(part).__mro__[1]
    parameters = signature(base.__init__).parameters.values()  # type: ignore[misc]
    names = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    return f"super().__init__({', '.join(names[1:])})"
