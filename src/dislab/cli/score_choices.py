"""Parses scores and their settings from `dislab score --metrics`."""

import inspect
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from dislab import plugins
from dislab.base import MetricBuilder
from dislab.errors import InputError, suggestion
from dislab.yaml_files import is_yaml, parse_yaml, read_mapping

_EXAMPLE: Final = "mig: {class_path: MIG, init_args: {bins: 30}}"


def score_choices(words: Sequence[str]) -> dict[str, MetricBuilder]:
    """Builders of the chosen scores, by name.

    The words are class names such as `MIG`, settings such as `MIG.bins=30`, which also select their
    class, and YAML files with the same structure as `evaluate.metrics`.

    Raises:
        InputError: A class, setting or file does not exist, a file or a value is malformed, or a
            file defines a score that exists already.
    """
    choices: dict[str, tuple[str, dict[str, Any]]] = {}
    for word in words:
        if is_yaml(word):
            for name, choice in _in_file(Path(word)).items():
                if name in choices:
                    raise InputError(f"{word} names {name}, which is a score already; rename one")
                choices[name] = choice
            continue
        target, equals, text = word.partition("=")
        name, dot, setting = target.partition(".")
        if bool(dot) != bool(equals) or (dot and not setting):
            raise InputError(
                f"--metrics has {word!r}; give class names such as MIG, settings such as "
                "MIG.bins=30, or a .yaml file"
            )
        _, settings = choices.setdefault(name, (name, {}))
        if dot:
            settings[setting] = parse_yaml(text, word)
    return {name: _builder(name, cls, arguments) for name, (cls, arguments) in choices.items()}


def _in_file(path: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    """Class and settings of each score defined in a file."""
    choices = {}
    for name, content in read_mapping(path, _EXAMPLE).items():
        entry = {"class_path": content} if isinstance(content, str) else content
        if not isinstance(entry, Mapping) or not isinstance(entry.get("class_path"), str):
            raise InputError(f"{path}: {name} has no class_path; write it as {_EXAMPLE}")
        if unknown := set(entry) - {"class_path", "init_args"}:
            raise InputError(
                f"{path}: {name} has {', '.join(map(str, unknown))}; an entry has class_path and "
                "init_args"
            )
        settings = entry.get("init_args") or {}
        if not isinstance(settings, Mapping):
            raise InputError(f"{path}: init_args of {name} is {settings!r}; it holds settings")
        choices[str(name)] = (entry["class_path"], dict(settings))
    return choices


def _builder(name: str, path: str, settings: dict[str, Any]) -> MetricBuilder:
    """The builder of a class with settings; rejects unknown settings."""
    module, _, cls_name = path.rpartition(".")
    cls = plugins.load("metrics", cls_name)
    if module and not f"{cls.__module__}.".startswith(f"{module}."):
        raise InputError(f"{name} is {path}, which is no score; {cls_name} alone is enough")
    parameters = list(inspect.signature(cls).parameters)[1:]
    for setting in settings:
        if setting not in parameters:
            hint = suggestion(str(setting), parameters)
            raise InputError(
                f"{name} has no setting {setting!r}{hint}; its settings are {', '.join(parameters)}"
            )
    return partial(cls, **settings)
