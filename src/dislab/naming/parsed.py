"""The allow-list of names in the parsers of configuration files and command lines."""

import inspect
from collections.abc import Mapping
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from jsonargparse import Namespace, set_parsing_settings
from jsonargparse import _typehints as jsonargparse_types  # no public function finds classes

from dislab import plugins
from dislab.errors import InputError, suggestion
from dislab.naming.classes import find_object, packages

_RESOLVE: Final = jsonargparse_types.resolve_class_path_by_name
_CALLABLE: Final = (FunctionType, BuiltinFunctionType, MethodType, partial, ModuleType)


def confine_names() -> None:
    """Makes the parsers of this process import only modules of parts, whatever a value names.

    They refuse a name that several distributions declare.
    """
    jsonargparse_types.resolve_class_path_by_name = _class_path
    set_parsing_settings(
        import_path_denylist=["*"],
        import_path_allowlist=packages(),
        instantiate_subclass_spec_in_any=False,
    )


def _class_path(cls: Any, name: str) -> str:
    """The dotted path of a class that a value names."""
    if "." not in name:
        plugins.check_undisputed(name, *(cls if isinstance(cls, tuple) else (cls,)))
    return _RESOLVE(cls, name)


def check_parsed(config: Any, key_path: str = "") -> None:
    """Checks that parsed settings name only classes, before any of them is instantiated.

    The parser imports only modules of parts and checks classes against the types in signatures, but
    it accepts functions as builders.

    Raises:
        InputError: The settings name a function or another object, or a setting that a class lacks.
    """
    _check(config, key_path, None)


def _check(value: Any, key_path: str, default: object) -> None:
    if isinstance(value, Namespace):
        value = vars(value)
    if isinstance(value, Mapping):
        _check_mapping(value, key_path)
    elif isinstance(value, list | tuple | set):
        for inner in value:
            _check(inner, key_path, None)
    elif isinstance(value, _CALLABLE) and value is not default:
        name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}"
        raise _no_class(key_path, name)


def _check_mapping(value: Mapping[str, Any], key_path: str) -> None:
    if not isinstance(path := value.get("class_path"), str):
        for key, inner in value.items():
            _check(inner, f"{key_path}.{key}" if key_path else key, None)
        return
    if not inspect.isclass(cls := find_object(path)):
        raise _no_class(key_path, path)
    parameters = _parameters(cls)
    names = [name for name, each in parameters.items() if each.default is not each.empty]
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        for name in value.get("dict_kwargs") or {}:
            if name not in parameters:
                raise InputError(
                    f"{key_path}: {cls.__name__} has no setting {name!r}{suggestion(name, names)}; "
                    f"it has {', '.join(names)}"
                )
    for arguments in (value.get("init_args") or {}, value.get("dict_kwargs") or {}):
        inside = vars(arguments) if isinstance(arguments, Namespace) else arguments
        for name, inner in inside.items():
            _check(
                inner,
                f"{key_path}.{name}",
                parameters[name].default if name in parameters else None,
            )


def _parameters(cls: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(cls.__init__).parameters


def _no_class(key_path: str, name: str) -> InputError:
    return InputError(f"{key_path} names {name}, which is no class; nothing but parts may be named")
