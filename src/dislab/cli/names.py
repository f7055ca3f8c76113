"""Restricts class names in configuration files and on command lines to parts."""

import inspect
from collections.abc import Mapping
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from jsonargparse import Namespace, set_parsing_settings

from dislab.base.named_classes import find_object, packages
from dislab.errors import InputError

_CALLABLE: Final = (FunctionType, BuiltinFunctionType, MethodType, partial, ModuleType)


def confine_names() -> None:
    """Makes the parsers of this process import only modules of parts, whatever a value names."""
    set_parsing_settings(
        import_path_denylist=["*"],
        import_path_allowlist=packages(),
        instantiate_subclass_spec_in_any=False,
    )


def check_names(config: Any, place: str = "") -> None:
    """Checks that parsed settings name only classes, before any of them is instantiated.

    The parser imports only modules of parts and checks classes against the types in signatures, but
    it accepts functions as builders.

    Raises:
        InputError: The settings name a function or another object.
    """
    _check(config, place, None)


def _check(value: Any, place: str, default: object) -> None:
    if isinstance(value, Namespace):
        value = vars(value)
    if isinstance(value, Mapping):
        _check_mapping(value, place)
    elif isinstance(value, list | tuple | set):
        for one in value:
            _check(one, place, None)
    elif isinstance(value, _CALLABLE) and value is not default:
        name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}"
        raise _no_class(place, name)


def _check_mapping(value: Mapping[str, Any], place: str) -> None:
    if not isinstance(path := value.get("class_path"), str):
        for key, one in value.items():
            _check(one, f"{place}.{key}" if place else key, None)
        return
    if not inspect.isclass(cls := find_object(path)):
        raise _no_class(place, path)
    shown = _parameters(cls)
    for arguments in (value.get("init_args") or {}, value.get("dict_kwargs") or {}):
        inside = vars(arguments) if isinstance(arguments, Namespace) else arguments
        for name, one in inside.items():
            _check(one, f"{place}.{name}", shown[name].default if name in shown else None)


def _parameters(cls: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(cls.__init__).parameters


def _no_class(place: str, name: str) -> InputError:
    return InputError(f"{place} names {name}, which is no class; nothing but parts may be named")
