"""Rebuilds models from run folders and stored settings."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from dislab import plugins
from dislab.base.objective import Objective
from dislab.errors import InputError, suggestion
from dislab.naming.classes import ForeignNameError, find_object
from dislab.naming.hyperparameters import Ready, handed_over
from dislab.naming.rebuilding import build, check_names, settings_in, takes_builder
from dislab.naming.settings import checks_arguments
from dislab.runs.checkpoints import read_checkpoint, short
from dislab.runs.exported import is_exported, read_exported
from dislab.runs.folders import checkpoint_of
from dislab.runs.records import Record


@checks_arguments
def load_run(
    run: str | Path, *, objective: type[Objective] | None = None, **parts: object
) -> Objective:
    """Loads the trained objective of a run or of an export, on the CPU and in evaluation mode.

    Only tensors, numbers, strings and containers are read from the file. A class that it names must
    belong to dislab, torch, lightning or an installed plugin, or be imported already, and must
    derive from the base class required for its argument; nothing else is imported or called.

    Args:
        run: A run folder, a checkpoint file, or a folder that `dislab export --to safetensors` or
            `dislab pull` wrote.
        objective: The class of the objective, if it cannot be found by its name.
        parts: Replacements of constructor arguments: classes, `functools.partial`s of classes, or
            module instances, into which the weights are loaded; for regularisers a dictionary of
            those to replace. A module under any other name is set as an attribute, as in training.

    Raises:
        InputError: The checkpoint is missing or damaged, contains foreign objects, names a class
            that cannot be found or is not allowed, or does not match the class or the parts.
    """
    path = Path(run) if is_exported(run) else checkpoint_of(run)
    plugins.load_all(plugins.PARTS)
    stored = read_exported(path) if is_exported(run) else read_checkpoint(path)
    hparams = _hparams(stored, path)
    cls = objective or _objective_class(hparams.get("_class_path"), path)
    settings, attributes = _with_parts(cls, hparams, parts, stored["state_dict"])
    try:
        module = build(cls, settings)
        for name, part in attributes.items():
            setattr(module, name, part)
        module.on_load_checkpoint(stored)
        module.load_state_dict(stored["state_dict"])
    except ForeignNameError as error:
        raise InputError(f"{path}: {error}{_remedy(error)}") from error
    except (Exception, SystemExit) as error:  # third-party constructors may raise anything
        raise InputError(
            f"{path} does not fit {cls.__name__} as it is installed now: {short(error)}"
        ) from error
    return module.eval()


def check_model_names(path: str | Path, stored: Mapping[str, Any]) -> None:
    """Checks that a checkpoint names only allowed classes, without building a module.

    Args:
        path: The file, for the message.
        stored: Content of the file.

    Raises:
        InputError: It names another class, a function or a module.
    """
    plugins.load_all(plugins.PARTS)
    if not (hparams := _hparams(stored, Path(path))):
        return
    cls = _objective_class(hparams.get("_class_path"), Path(path))
    try:
        check_names(cls, settings_in(hparams))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def rebuild(module: Objective) -> Objective:
    """Builds an objective with the settings of another one, and newly initialised weights.

    Args:
        module: An objective that saved its hyperparameters.
    """
    return build(type(module), module.hparams, module.own_classes)


def settings_of(module: Objective) -> Record:
    """Settings from which `from_settings` rebuilds an objective: plain data, no weights.

    Args:
        module: An objective that saved its hyperparameters.
    """
    return {
        **module.hparams,
        "_class_path": f"{type(module).__module__}.{type(module).__qualname__}",
    }


def from_settings(settings: Mapping[str, Any]) -> Objective:
    """Builds an objective from settings, with newly initialised weights.

    Args:
        settings: Result of `settings_of`.

    Raises:
        InputError: The class is not installed, or the settings name a class that is not allowed.
    """
    plugins.load_all(plugins.PARTS)
    return build(_objective_class(settings.get("_class_path"), Path("the model")), settings)


def _hparams(stored: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    hparams = stored.get("hyper_parameters", {})
    if not isinstance(hparams, Mapping):
        raise InputError(f"{path} was not written by a dislab run: its settings are {hparams!r}")
    return hparams


def _objective_class(class_path: object, path: Path) -> type[Objective]:
    if not isinstance(class_path, str):
        raise InputError(f"{path} was not written by a dislab run: it does not name its objective")
    cls = find_object(class_path)
    if not (isinstance(cls, type) and issubclass(cls, Objective)):
        raise InputError(
            f"{path} was made by the objective {class_path}, which no installed distribution "
            "declares; install the one that does, import that module first, or hand the class "
            "over: load_run(run, objective=…)"
        )
    return cls


def _with_parts(
    cls: type[Objective], hparams: Mapping[str, Any], parts: Mapping[str, object], weights: Any
) -> tuple[dict[str, Any], dict[str, nn.Module]]:
    """The settings with the given parts inserted, and the modules that are not settings."""
    settings = dict(hparams)
    attributes: dict[str, nn.Module] = {}
    arguments = inspect.signature(cls).parameters
    for name, part in parts.items():
        if name in arguments:
            settings[name] = _with_entries(cls, name, settings.get(name), part)
        elif isinstance(part, nn.Module) and any(key.startswith(f"{name}.") for key in weights):
            attributes[name] = part
        else:
            raise InputError(
                f"{cls.__name__} has no part {name!r}{suggestion(name, arguments)}; it has "
                f"{', '.join(arguments)}"
            )
    return settings, attributes


def _with_entries(cls: type, name: str, stored: object, part: object) -> object:
    """A part, or the stored dictionary of parts with the given entries replaced."""
    if not isinstance(part, Mapping):
        return _builder(cls, name, part)
    parts = {key: _builder(cls, f"{name}.{key}", entry) for key, entry in part.items()}
    return {**(stored if isinstance(stored, Mapping) else {}), **parts}


def _builder(cls: type, name: str, part: object) -> object:
    if isinstance(part, nn.Module) and takes_builder(cls, name):
        return Ready(part, name)
    return part


def _remedy(error: ForeignNameError) -> str:
    if error.exists:
        return ""
    return (
        "; import the module of a class of your own first, or hand the part over: "
        f"load_run(run, {handed_over(error.key_path, '…')})"
    )
