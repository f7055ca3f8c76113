"""Builders of parts given as words: class names, settings such as `MIG.bins=30`, YAML files."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dislab import plugins
from dislab.errors import InputError, suggestion
from dislab.yaml_files import is_yaml, parse_yaml, read_mapping


def builders_of(
    group: str, words: Sequence[str], noun: str, example: str
) -> dict[str, Callable[..., Any]]:
    """Builders of parts by name.

    Args:
        group: The plugin group.
        words: Class names such as `MIG`, of which letters and digits alone decide; dotted paths of
            classes whose name several distributions declare; settings such as
            `MIG.bins=30`, which also select their class; and YAML files that map names to
            `{class_path: …, init_args: …}`.
        noun: What a part is, for messages.
        example: A class with a setting, such as `MIG.bins=30`, for messages.

    Raises:
        InputError: A class, setting or file does not exist, a file or a value is malformed, or a
            file defines a part that exists already.
    """
    choices: dict[str, tuple[str, dict[str, Any]]] = {}
    for word in words:
        if is_yaml(word):
            for name, choice in _in_file(Path(word), example).items():
                if name in choices:
                    raise InputError(f"{word} names {name}, the name of another {noun}; rename one")
                choices[name] = choice
            continue
        target, equals, text = word.partition("=")
        path = _path(group, target)
        name, dot, setting = target.removeprefix(path).partition(".")
        name = path or plugins.spelt(group, name)
        if bool(dot) != bool(equals) or (dot and not setting):
            raise InputError(
                f"{word!r} is no {noun}; give class names such as {example.partition('.')[0]}, "
                f"settings such as {example}, or a .yaml file"
            )
        last = name.rpartition(".")[2]
        cls, settings = choices.setdefault(last, (name, {}))
        if cls != name:
            raise InputError(f"{cls} and {name} are both called {last}; name each in a .yaml file")
        if dot:
            settings[setting] = parse_yaml(text, word)
    return {
        name: _builder(group, name, cls, settings, noun)
        for name, (cls, settings) in choices.items()
    }


def _path(group: str, target: str) -> str:
    """The declared dotted path with which a word begins; empty for none."""
    paths = [plugin.path for plugin in plugins.declarations(group) if plugin.dispute]
    return next((path for path in paths if f"{target}.".startswith(f"{path}.")), "")


def _in_file(path: Path, example: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Class and settings of each part defined in a file."""
    cls, _, setting = example.partition(".")
    entry_example = (
        f"{cls.lower()}: {{class_path: {cls}, init_args: {{{setting.replace('=', ': ')}}}}}"
    )
    choices = {}
    for name, content in read_mapping(path, entry_example).items():
        entry = {"class_path": content} if isinstance(content, str) else content
        if not isinstance(entry, Mapping) or not isinstance(entry.get("class_path"), str):
            raise InputError(f"{path}: {name} has no class_path; write it as {entry_example}")
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


def _builder(
    group: str, name: str, path: str, settings: dict[str, Any], noun: str
) -> Callable[..., Any]:
    """The builder of a class with settings; rejects unknown settings."""
    module, _, cls_name = path.rpartition(".")
    is_declared = path in {plugin.path for plugin in plugins.declarations(group)}
    cls: Any = plugins.load(group, path if is_declared else cls_name)
    if module and not f"{cls.__module__}.".startswith(f"{module}."):
        raise InputError(f"{name} is {path}, which is no {noun}; {cls_name} alone is enough")
    parameters = list(inspect.signature(cls).parameters)[getattr(cls, "filled_in", 0) :]
    for setting in settings:
        if setting not in parameters:
            hint = suggestion(str(setting), parameters)
            raise InputError(
                f"{name} has no setting {setting!r}{hint}; its settings are {', '.join(parameters)}"
            )
    return partial(cls, **settings) if settings else cls
