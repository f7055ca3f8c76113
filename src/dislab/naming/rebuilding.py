"""Rebuild parts from plain data that names their classes."""

import importlib.util
import pickle
import sys
import warnings
from collections.abc import Mapping
from contextvars import Context
from functools import partial
from typing import Any, Final, TypeVar

import torch
from jsonargparse import ArgumentParser
from lightning.pytorch import LightningModule
from lightning.pytorch.utilities import rank_zero_only
from torch import nn

from dislab.errors import InputError, warn
from dislab.naming.classes import ForeignNameError, find_class, find_object
from dislab.naming.hyperparameters import LostPartWarning, handed_over
from dislab.naming.type_hints import (
    Option,
    Unseen,
    alternatives,
    is_container,
    item_type,
    options_of,
    signature_of,
)
from dislab.yaml_files import check_limits

ObjectiveT = TypeVar("ObjectiveT", bound=LightningModule)

_MAKER: Final = "lightning.pytorch.cli.instantiate_module"
"""The function named in checkpoints of the command line, which builds the model."""
_SPECIFICATION: Final = {"class_path", "init_args", "dict_kwargs"}
_MARK: Final = "\u200b"
"""Prefix that jsonargparse adds to settings named like a method of its namespaces, such as
`values`."""


def check_names(
    cls: type, stored: Mapping[str, Any], module_classes: Mapping[str, type] | None = None
) -> None:
    """Refuses stored arguments that name classes which are not allowed; nothing is called.

    `module_classes` holds further allowed classes by their dotted paths, here and in the functions
    below.

    Raises:
        ForeignNameError: They name another class, a function or a module.
        InputError: They contain themselves, or are nested too deeply.
    """
    try:
        _Reader(module_classes or {}, build=False).arguments(cls, stored, "")
    except RecursionError as error:
        raise InputError(
            f"the arguments of {cls.__name__} hold themselves, or are nested too deeply"
        ) from error


def arguments_of(
    cls: type, stored: Mapping[str, Any], module_classes: Mapping[str, type] | None = None
) -> dict[str, Any]:
    """Arguments of a class, from plain data in which builders are names and settings.

    All names are looked up before anything is constructed. Values that are not plain data, such as
    builders, are kept.

    Raises:
        ForeignNameError: They name another class, a function or a module.
        ArgumentError: They do not fit the class.
    """
    check_names(cls, stored, module_classes)
    return _settings(cls, _Reader(module_classes or {}, build=True).arguments(cls, stored, ""))


def built_part(base: type, stored: Any, key_path: str) -> Any:
    """An instance of a class from its name, or from `class_path` with `init_args`.

    Raises:
        ForeignNameError: The data name another class, a function or a module.
        ArgumentError: The arguments do not fit the class.
    """
    if isinstance(stored, str):
        stored = {"class_path": stored}
    if not isinstance(stored, Mapping) or not {"class_path"} <= stored.keys() <= _SPECIFICATION:
        raise InputError(f"{key_path} is {stored!r}; it holds class_path and init_args")
    cls = find_class(stored["class_path"], (base,), key_path)
    return cls(**arguments_of(cls, stored.get("init_args") or {}))


def build(
    cls: type[ObjectiveT],
    hparams: Mapping[str, Any],
    module_classes: Mapping[str, type] | None = None,
) -> ObjectiveT:
    """An objective from its stored arguments, with new random weights.

    Stored entries that start with an underscore are not arguments. Errors are those of
    `arguments_of`.
    """
    arguments = arguments_of(cls, settings_in(hparams), module_classes)

    def construct() -> ObjectiveT:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LostPartWarning)
            return cls(**arguments)

    # In a context of its own: in the command line's context, Lightning would store the settings of
    # the outer model as those of every model built inside it.
    return Context().run(construct)


@rank_zero_only
def warn_of_replaced(module: LightningModule, module_classes: Mapping[str, type]) -> None:
    """Warns if a model differs from its stored arguments, as after `model.encoder = net`.

    A model built by the command line equals its configuration and is skipped.

    Args:
        module: The model.
        module_classes: Classes of its parts by their dotted paths.
    """
    if "_instantiator" in module.hparams:
        return
    try:
        with torch.random.fork_rng(devices=[]):
            copy = build(type(module), module.hparams, module_classes)
    except (Exception, SystemExit) as error:  # third-party constructors may raise anything
        key_path = error.key_path if isinstance(error, ForeignNameError) else "PART"
        reason, parts = f"building it again fails ({error})", [handed_over(key_path, "…")]
    else:
        reason, parts = "parts were replaced after construction", _differing(module, copy)
    if parts:
        warn(
            f"a checkpoint of this {type(module).__name__} cannot be loaded by itself: {reason}; "
            f"pass them: load_run(run, {', '.join(parts)})",
            LostPartWarning,
        )


def _differing(module: nn.Module, copy: nn.Module) -> list[str]:
    """Arguments of `load_run` for the parts in which two models differ."""
    kinds = [
        {name: type(part) for name, part in network.named_modules()} for network in (module, copy)
    ]
    sizes = [
        {name: network.shape for name, network in model.state_dict().items()}
        for model in (module, copy)
    ]
    places: dict[str, str] = {}
    for mine, others in (kinds, sizes):
        for name in sorted(mine.keys() | others.keys()):
            if name and mine.get(name) != others.get(name):
                top, _, inner = name.partition(".")
                entries = isinstance(getattr(module, top, None), nn.ModuleDict)
                key_path = f"{top}.{inner.partition('.')[0]}" if entries and inner else top
                part = (
                    getattr(module, top, None)
                    if key_path == top
                    else module.get_submodule(key_path)
                )
                places.setdefault(key_path, handed_over(key_path, f"my {type(part).__name__}"))
    return list(places.values())


def settings_in(hparams: Mapping[str, Any]) -> dict[str, Any]:
    """The constructor arguments among the stored entries of a model."""
    return {name: value for name, value in hparams.items() if not name.startswith("_")}


def check_checkpoint(cls: type, path: Any) -> type | None:
    """Refuses a checkpoint from which Lightning must not build a model.

    Returns the class of a model that the command line trained; None of others.

    Args:
        cls: The class of the model, or a base of it.
        path: The file, or an open one.

    Raises:
        ForeignNameError: It names a class, a function or a module that it may not name.
    """
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise InputError(f"{path} holds objects that are no plain numbers: {error}") from error
    if hasattr(path, "seek"):
        path.seek(0)
    hparams: dict[str, Any] = {}
    for key in ("hparams", "module_arguments", "hyper_parameters"):  # old keys too
        hparams |= stored.get(key, {})
    if (maker := hparams.get("_instantiator", _MAKER)) != _MAKER:
        message = f"{path} is to be built by {maker}; that is no checkpoint of dislab"
        raise ForeignNameError(message, "_instantiator", exists=True)
    if (name := hparams.get("_class_path")) is not None:
        cls = find_class(name, (cls,), "_class_path")
    check_names(cls, settings_in(hparams))
    return cls if "_instantiator" in hparams else None


def takes_builder(cls: type, name: str) -> bool:
    """Whether an argument of a class, or an entry such as `regularizers.kl`, builds a part."""
    argument, _, entry = name.partition(".")
    hint = signature_of(cls)[0].get(argument, Unseen)
    options = options_of(item_type(hint, entry) if entry else hint)
    return any(option.kind == "builder" for option in options)


class _Reader:
    """Converts plain data as the type hints of the arguments require."""

    def __init__(self, module_classes: Mapping[str, type], build: bool) -> None:
        self.module_classes = module_classes
        self.build = build

    def arguments(self, cls: type, stored: object, key_path: str) -> dict[str, Any]:
        """The arguments of a class with its builders made."""
        if not isinstance(stored, Mapping):
            raise InputError(f"{key_path or cls.__name__} has arguments without names: {stored!r}")
        types_of, defaults = signature_of(cls)
        return {
            str(name): self.value(
                value,
                types_of.get(name, Unseen),
                f"{key_path}.{name}" if key_path else str(name),
                defaults.get(name),
            )
            for name, value in stored.items()
        }

    def value(self, value: Any, hint: Any, key_path: str, default: object = None) -> Any:
        """A value with its builders made."""
        if isinstance(value, str):
            return self._text(value, hint, key_path, default)
        if isinstance(value, Mapping):
            options = options_of(hint)
            if "class_path" in value and options:
                return self._part(value, options, key_path)
            return {
                key: self.value(inner, item_type(hint, key), f"{key_path}.{key}")
                for key, inner in value.items()
            }
        if isinstance(value, list | tuple):
            return type(value)(
                self.value(inner, item_type(hint, None), key_path) for inner in value
            )
        return value

    def _part(self, value: Mapping[str, Any], options: list[Option], key_path: str) -> Any:
        """The object that a class path and its arguments describe."""
        if not value.keys() <= _SPECIFICATION:
            name = str(value["class_path"]).rpartition(".")[2]
            raise ForeignNameError(
                f"{key_path} was a ready {name}, whose settings are not stored",
                key_path,
                exists=False,
            )
        bases = tuple(base for option in options for base in option.bases)
        cls = find_class(value["class_path"], bases, key_path, self.module_classes)
        option = next(candidate for candidate in options if issubclass(cls, candidate.bases))
        ready = self.arguments(cls, value.get("init_args") or {}, key_path)
        further = self.arguments(cls, value.get("dict_kwargs") or {}, key_path)
        if option.kind == "builder" and self.build:
            settings = _settings(cls, ready, option.filled_in)
            return partial(cls, **{**settings, **further})
        return {"class_path": value["class_path"], "init_args": ready} | (
            {"dict_kwargs": further} if further else {}
        )

    def _text(self, value: str, hint: Any, key_path: str, default: object) -> Any:
        """The text itself, or the class that it names if a class is allowed."""
        options = options_of(hint)
        if not options and not is_container(hint):
            return value
        loaded = check_limits(value, key_path)
        if isinstance(loaded, dict | list):  # as jsonargparse would parse it
            return self.value(loaded, hint, key_path)
        kinds = {option.kind for option in options}
        if not kinds or kinds == {"any"} or not isinstance(loaded, str):
            return value
        if "module" in kinds:
            message = f"{key_path} names {value}, and a file may not name modules or types"
            raise ForeignNameError(message, key_path, exists=True)
        bases = tuple(base for option in options for base in option.bases)
        named_value = self.module_classes.get(value) or find_object(value, bases)
        if named_value is not None and (named_value is default or isinstance(named_value, bases)):
            return value  # nothing is called
        if isinstance(named_value, type) and issubclass(named_value, bases):
            option = next(
                candidate for candidate in options if issubclass(named_value, candidate.bases)
            )
            if option.kind == "class":
                return named_value if self.build else value
            return self._part({"class_path": value}, options, key_path)
        unknown = "unseen" in kinds or str in alternatives(hint)
        if "." not in value or (unknown and not _leads_to_a_module(value)):
            return value
        return find_class(value, bases, key_path, self.module_classes)  # raises an error


def _settings(cls: type, ready: Mapping[str, Any], filled_in: int = 0) -> dict[str, Any]:
    """All arguments of a class: the given ones, converted to their types, and the defaults."""
    parser = ArgumentParser(exit_on_error=False)
    skip: set[str | int] = {filled_in} if filled_in else set()
    arguments = parser.add_class_arguments(
        cls, "part", skip=skip, fail_untyped=False, instantiate=False
    )
    if not arguments:
        if ready:
            raise InputError(f"{cls.__name__} has no setting {', '.join(ready)}")
        return {}
    parsed = parser.parse_object({"part": dict(ready)})
    instantiated = vars(parser.instantiate(parsed).part)
    return {name.removeprefix(_MARK): value for name, value in instantiated.items()}


def _leads_to_a_module(name: str) -> bool:
    top = name.partition(".")[0]
    return top in sys.modules or (top.isidentifier() and importlib.util.find_spec(top) is not None)
