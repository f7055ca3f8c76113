"""Records read from JSON files, and names read from files: checked once, for all rooms."""

import json
import math
import re
import stat
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from dislab.errors import InputError, one_line

T = TypeVar("T")

LARGEST: Final = 2**30
"""Bytes of the largest file that is read; the schedule of a million runs takes half of it."""
DEPTH: Final = 100
"""Largest depth of nested lists and objects."""

_COMPONENT: Final = re.compile(r"\w[\w.+=,-]*")
_LONGEST: Final = 200
"""Bytes of the longest name: file systems allow 255, and temporary files add to it."""
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def is_component(name: object) -> bool:
    """Whether a name is a single harmless component of a path.

    It has letters, digits and . _ + = , - only, starts with a letter, a digit or _, and is short.
    """
    if not isinstance(name, str) or not _COMPONENT.fullmatch(name):
        return False
    return len(name.encode("utf-8", "replace")) <= _LONGEST


def check_inside(root: Path, path: Path) -> None:
    """Refuses a path that a link leads out of the folder that it belongs to.

    Args:
        root: The folder, which may be a link itself.
        path: A file or folder below it, which need not exist.

    Raises:
        InputError: The path lies elsewhere.
    """
    real = path.resolve()
    if not real.is_relative_to(root.resolve()):
        raise InputError(
            f"{path} leads out of {root} to {real}, where nothing is written or removed; replace "
            "the link by a folder, or link the whole of the outer folder"
        )


def read_json(path: Path, remedy: str, finite: bool = True) -> dict[str, Any]:
    """The object in a JSON file.

    Args:
        path: The file.
        remedy: Advice at the end of the message about a damaged file.
        finite: Whether numbers that are infinite, NaN or too large for a float are refused.

    Raises:
        InputError: The file is missing, cannot be read, or is no JSON object; it is too large, too
            deep, or holds such a number, or half of a character.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would wait for its other end
            raise ValueError("it is no regular file")
        if status.st_size > LARGEST:
            raise ValueError(f"it has {status.st_size:,} bytes, more than {LARGEST:,}")
        text = path.read_text(encoding="utf-8")
        content = json.loads(text)
        if not isinstance(content, dict):
            raise InputError(f"{path} holds no JSON object; {remedy}")
        _check_values(content, finite)
        if _SURROGATE.search(text):
            json.dumps(content, ensure_ascii=False).encode()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; {remedy}") from error
    except RecursionError as error:
        raise InputError(f"{path} is damaged: nested too deeply; {remedy}") from error
    except InputError:
        raise
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no JSON: {one_line(error)[:200]}; {remedy}") from error
    except ValueError as error:
        raise InputError(f"{path} is damaged: {one_line(error)[:200]}; {remedy}") from error
    return content


def _check_values(content: Any, finite: bool) -> None:
    """Refuses deep nesting and, if asked to, numbers that are not finite floats."""
    level = [content]
    for _ in range(DEPTH):
        values = [
            value for part in level for value in (part.values() if isinstance(part, dict) else part)
        ]
        if finite and not all(
            _is_finite(value) for value in values if isinstance(value, int | float)
        ):
            raise ValueError("it holds a number that is infinite, NaN or too large")
        level = [value for value in values if isinstance(value, dict | list)]
        if not level:
            return
    raise ValueError(f"more than {DEPTH} lists and objects lie inside each other")


def _is_finite(value: int | float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def record_of(cls: type[T], content: object, origin: str) -> T:
    """A record as an object of its class; unknown fields, of later versions, are ignored.

    Args:
        cls: A dataclass or named tuple of plain data.
        content: The record as read.
        origin: The file, for messages.

    Raises:
        InputError: A field is missing or has another type.
    """
    if not isinstance(content, Mapping):
        raise InputError(f"{origin} is damaged: it holds {content!r:.80} instead of a record")
    hints = _hints(cast("Any", cls))
    check_fields(content, hints, origin)
    fields = {name: content[name] for name in hints if name in content}
    for name, value in fields.items():  # JSON has lists and whole numbers instead
        kind = get_origin(hints[name]) or hints[name]
        fields[name] = kind(value) if kind in (tuple, float) else value
    try:
        return cls(**fields)
    except TypeError as error:  # a field without a default is missing
        raise InputError(f"{origin} is damaged: {one_line(error)}") from error


@cache
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def check_fields(record: Mapping[str, Any], hints: Mapping[str, Any], origin: str) -> None:
    """Refuses a record with a field of another type; fields without a type are not looked at.

    Args:
        record: The fields by name.
        hints: Types of fields, some of which may be missing.
        origin: The file, for messages.

    Raises:
        InputError: A field has another type.
    """
    for name, hint in hints.items():
        if name in record and not _fits(record[name], hint):
            kind = getattr(hint, "__name__", None) if not get_args(hint) else str(hint)
            raise InputError(
                f"{origin} is damaged: {name} is {record[name]!r:.80}, and must be {kind}"
            )


def _fits(value: object, hint: Any) -> bool:
    """Whether plain data have a type."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, member) for member in inner)
    if origin is Literal:
        return any(type(value) is type(member) and value == member for member in inner)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            _fits(member, inner[1]) for member in value.values()
        )
    if origin in (list, tuple):
        return isinstance(value, list | tuple) and all(_fits(member, inner[0]) for member in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, NoneType if hint is None else hint)
