"""Classes that constructor arguments may name, derived from the argument types."""

import enum
import inspect
import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from typing import Any, Final, Literal, NamedTuple, TypeVar, get_args, get_origin

from dislab.naming.classes import known_bases

_PLAIN: Final = (
    *(str, bytes, int, float, complex, type(None), list, dict, tuple, set, frozenset),
    *(os.PathLike, enum.Enum, date, timedelta),
)
"""Types whose values never name a class."""
_EXPRESSIONS: Final = (types.ModuleType, types.UnionType, types.GenericAlias)
"""Types whose values jsonargparse imports as modules or evaluates as type expressions."""


class Unseen:
    """Marks an argument whose type is not in the signature."""


class Option(NamedTuple):
    """One form of a value that a type allows and that may name a class.

    Attributes:
        kind: A builder, an instance, a class, a module, anything, or a value of unknown type.
        bases: The allowed base classes.
        filled_in: Number of leading arguments that the owner passes to a builder.
    """

    kind: Literal["builder", "instance", "class", "module", "any", "unseen"]
    bases: tuple[type, ...]
    filled_in: int = 0


def signature_of(cls: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Types and defaults of a class's constructor arguments, including those for its bases."""
    try:
        parameters = dict(inspect.signature(cls.__init__).parameters)
        listed = typing.is_typeddict(cls) or hasattr(cls, "_fields")
        annotations = typing.get_type_hints(cls if listed else cls.__init__)
    except (NameError, TypeError, ValueError, AttributeError):  # third-party annotations
        return {}, {}
    hints = {**dict.fromkeys(parameters, Unseen), **annotations}
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    if (
        any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        and cls.__base__ is not object
    ):
        inherited, their_defaults = signature_of(cls.__base__)
        return {**inherited, **hints}, {**their_defaults, **defaults}
    return hints, defaults


def options_of(hint: Any) -> list[Option]:
    """Ways in which a value of a type may name a class."""
    return [option for alternative in alternatives(hint) for option in _of_one_type(alternative)]


def _of_one_type(hint: Any) -> list[Option]:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Unseen:
        return [Option("unseen", known_bases())]
    if hint is Any or hint is object:
        return [Option("any", known_bases())]
    if isinstance(hint, TypeVar | str | typing.ForwardRef):
        return [Option("unseen", known_bases())]
    if hint in _EXPRESSIONS:
        return [Option("module", ())]
    if origin is Callable or hint in (Callable, typing.Callable):
        leading = inner[0] if inner else []
        bases = _classes(inner[-1]) if inner else ()
        count = len(leading) if isinstance(leading, list) else 1
        return [Option("builder", bases, count) if bases else Option("unseen", known_bases())]
    if origin is type or hint is type:
        return [Option("class", (_classes(inner[0]) if inner else ()) or known_bases())]
    return [Option("instance", classes)] if (classes := _classes(hint)) else []


def alternatives(hint: Any) -> list[Any]:
    """The types of a union; a list of one for any other type."""
    origin = get_origin(hint)
    if origin is typing.Annotated:
        return alternatives(get_args(hint)[0])
    for alias in ("__value__", "__supertype__"):  # type X = …, and NewType
        if not isinstance(hint, type) and hasattr(hint, alias):
            return alternatives(getattr(hint, alias))
    if origin in (typing.Union, types.UnionType):
        return [
            alternative for argument in get_args(hint) for alternative in alternatives(argument)
        ]
    return [hint]


def _classes(hint: Any) -> tuple[type, ...]:
    """The classes in a type hint whose instances plain data cannot hold."""
    classes: list[type] = []
    for alternative in alternatives(hint):
        cls = get_origin(alternative) or alternative
        if not isinstance(cls, type) or cls is Unseen or issubclass(cls, _PLAIN):
            continue
        if cls.__module__ in ("collections.abc", "typing"):  # containers
            continue
        classes += known_bases() if getattr(cls, "_is_protocol", False) else [cls]
    return tuple(classes)


def is_container(hint: Any) -> bool:
    """Whether values of a type are containers; strings do not count."""
    origins = [get_origin(origin) or origin for origin in alternatives(hint)]
    return any(
        isinstance(origin, type)
        and issubclass(origin, Iterable)
        and not issubclass(origin, str | bytes)
        for origin in origins
    )


def item_type(hint: Any, key: object) -> Any:
    """The type of a container's element at a key."""
    types: list[Any] = []
    for alternative in alternatives(hint):
        origin, inner = get_origin(alternative), get_args(alternative)
        if alternative is Unseen:
            types.append(Unseen)
        elif isinstance(origin, type) and issubclass(origin, Mapping) and len(inner) == 2:
            types.append(inner[1])
        elif isinstance(origin, type) and issubclass(origin, Iterable):
            types += [each for each in inner if each is not ...]
        elif isinstance(alternative, type) and alternative.__module__ not in ("builtins", "typing"):
            types.append(signature_of(alternative)[0].get(str(key), Unseen))
    return typing.Union[tuple(types)] if types else Any  # noqa: UP007  # a list
