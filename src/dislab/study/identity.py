"""Identity of a run: all settings except those that cannot change a result.

Defaults are left out, so that options added in later versions keep the names of existing runs.
"""

import hashlib
import inspect
import json
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any, Final

from dislab.naming.classes import find_object

LENGTH: Final = 12
"""Hexadecimal digits of a run's name; the collision probability among 100,000 runs is 2e-5."""

OF_THE_HOST: Final = {
    "trainer": (
        "accelerator",
        "strategy",
        "devices",
        "num_nodes",
        "precision",
        "logger",
        "fast_dev_run",
        "limit_val_batches",
        "limit_test_batches",
        "limit_predict_batches",
        "val_check_interval",
        "check_val_every_n_epoch",
        "num_sanity_val_steps",
        "log_every_n_steps",
        "enable_checkpointing",
        "enable_progress_bar",
        "enable_model_summary",
        "deterministic",
        "benchmark",
        "inference_mode",
        "profiler",
        "detect_anomaly",
        "barebones",
        "plugins",
        "default_root_dir",
        "enable_autolog_hparams",
        "model_registry",
    ),
    "data": ("residency", "num_workers", "eval_batch_size"),
    "dataset": ("download",),
    "published": ("path", "folder", "download"),
}
"""Settings left out of the names of runs, by owner: devices, paths, loggers, check intervals."""

SECTIONS: Final = ("model", "data", "trainer", "optimizer", "lr_scheduler")
"""Sections of a configuration that training depends on, in addition to the seed."""


def path_is_data(dataset: Mapping[str, Any]) -> bool:
    """Whether the path of a configured data set is its data.

    A data set with a `citation` is published or rendered, so that its path only says where its copy
    lies.
    """
    return not getattr(find_object(dataset.get("class_path")), "citation", "")


def training_of(config: Mapping[str, Any], trainer: type) -> dict[str, Any]:
    """Settings of a configuration that determine the trained weights, without defaults.

    The configuration is complete, with classes as `class_path` and `init_args`; `trainer` is the
    trainer class, which provides its defaults.
    """
    training: dict[str, Any] = {}
    for section in SECTIONS:
        if (settings := config.get(section)) is None:
            continue
        if section == "trainer":
            settings = _without(settings, OF_THE_HOST["trainer"])
            training[section] = _differing(settings, _defaults(trainer))
        elif section == "data":
            training[section] = plain(_of_data(settings))
        else:
            training[section] = plain(settings)
    return training


def without_defaults(section: Mapping[str, Any], owner: type) -> dict[str, Any]:
    """Settings of a section without the defaults of `owner`, the class that takes them."""
    return _differing(section, _defaults(owner))


def digest(settings: Mapping[str, Any]) -> str:
    """Digest of settings, independent of their order."""
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"), allow_nan=True)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def run_id(training: Mapping[str, Any], seed: int) -> str:
    """Name of a run, from the result of `training_of` and the run's seed."""
    return digest({**training, "seed": seed})


def plain(value: Any) -> Any:
    """Canonical form of a value, independent of its notation.

    Classes, and partials of them, become their name and their non-default arguments; whole numbers
    become integers, and tuples become lists.
    """
    if isinstance(value, partial):
        return _part(value.func, dict(value.keywords))
    if inspect.isclass(value):
        return _part(value, {})
    if isinstance(value, Mapping):
        if isinstance(path := value.get("class_path"), str):
            arguments = {**(value.get("init_args") or {}), **(value.get("dict_kwargs") or {})}
            return _part(find_object(path), arguments, path)
        return {str(key): plain(setting) for key, setting in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(part) for part in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _part(cls: Any, arguments: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Canonical form of a class: its name without the module, which may move."""
    name = getattr(cls, "__name__", path.rpartition(".")[2])
    return {"class": name, "settings": _differing(arguments, _defaults(cls))}


def _differing(arguments: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    settings = {name: plain(value) for name, value in arguments.items()}
    return {
        name: value
        for name, value in settings.items()
        if name not in defaults or value != plain(defaults[name])
    }


def _defaults(cls: Any) -> dict[str, Any]:
    """Default values of the arguments of a class, including arguments passed on to its bases."""
    defaults: dict[str, Any] = {}
    for owner in _owners(cls):
        try:
            parameters = inspect.signature(owner).parameters.values()
        except (TypeError, ValueError):  # classes written in C may have no signature
            break
        for parameter in parameters:
            if parameter.default is not parameter.empty:
                defaults.setdefault(parameter.name, parameter.default)
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            break
    return defaults


def _owners(cls: Any) -> Iterator[Any]:
    yield from cls.__mro__[:-1] if inspect.isclass(cls) else [cls] if callable(cls) else []


def _of_data(section: Mapping[str, Any]) -> dict[str, Any]:
    """The section `data` without paths of published files and image-loading settings."""
    arguments = _without(section.get("init_args") or {}, OF_THE_HOST["data"])
    dataset = arguments.get("dataset")
    if isinstance(dataset, Mapping) and isinstance(dataset.get("init_args"), Mapping):
        owner = "dataset" if path_is_data(dataset) else "published"
        inner = _without(dataset["init_args"], OF_THE_HOST[owner])
        arguments["dataset"] = {**dataset, "init_args": inner}
    return {**section, "init_args": arguments}


def _without(section: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in section.items() if name not in names}
