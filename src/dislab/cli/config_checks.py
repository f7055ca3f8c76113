"""Checks the YAML that a training command will read, in files and in options."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import jsonargparse
import yaml

from dislab.errors import InputError
from dislab.runs import CONFIG
from dislab.yaml_files import (
    check_limits,
    is_yaml,
    parse_mapping,
    parse_yaml,
    read_text,
    written,
    yaml_text,
)

_CONFIGS: Final = ("--config", "-c")
_FOLDERS: Final = ("--run", "--resume")
_SECTIONS: Final = ("--model", "--data", "--trainer", "--optimizer", "--lr_scheduler")
"""Options that accept a file, of any name, instead of their settings."""
_EXAMPLE: Final = "model: {class_path: VAE}"


def check_configurations(args: Sequence[str]) -> None:
    """Rejects invalid YAML before the parser, which does not name files and drops duplicate keys.

    Checks the options, the files that they name, and the files named in these. Missing files are
    left to the parser.

    Raises:
        InputError: A file is not UTF-8, is not valid YAML, is nested too deeply or has too many
            aliases; a key is set twice; or a configuration has no settings.
    """
    seen: set[Path] = set()
    for option, value in _options(args):
        if option in _FOLDERS:
            option, value = "--config", str(Path(value, CONFIG))
        path = Path(value)
        is_config = option in _CONFIGS
        is_read = is_config or option in _SECTIONS or is_yaml(path)
        if is_read and _is_file(path):
            _check_file(path, is_config, seen)
        else:
            check_limits(value, option)


def read_values_strictly() -> None:
    """Makes jsonargparse reject duplicate keys, deep nesting and too many aliases everywhere.

    It also makes jsonargparse write YAML with dislab's writer, which quotes texts such as 1e5.

    The text `None` becomes null, as jsonargparse passes on null settings of a part as this text.
    """
    load = jsonargparse.get_loader("yaml")
    if getattr(load, "is_strict", False):
        return

    def strict(text: str) -> Any:
        check_limits(text, "a value")
        return None if text == "None" else load(text)

    strict.is_strict = True  # type: ignore[attr-defined]
    jsonargparse.set_loader("yaml", strict, (yaml.YAMLError,))
    jsonargparse.set_dumper("yaml", yaml_text)


def _options(args: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Options and their values, whether joined by `=` or separate."""
    option = ""
    for arg in args:
        if arg.startswith("-"):
            option, separator, value = arg.partition("=")
            if separator:
                yield option, value
        else:
            yield option, arg


def _check_file(path: Path, is_config: bool, seen: set[Path]) -> None:
    if path.resolve() in seen:
        return
    seen.add(path.resolve())
    text = read_text(path)
    content = parse_mapping(text, str(path), _EXAMPLE) if is_config else parse_yaml(text, str(path))
    _check_arguments(content, str(path), "")
    for value in _texts(content):
        inner = path.parent / value
        if is_yaml(inner) and _is_file(inner):
            _check_file(inner, False, seen)


def _check_arguments(content: object, origin: str, key: str) -> None:
    """Refuses `init_args` that are no mapping."""
    if isinstance(content, list):
        for value in content:
            _check_arguments(value, origin, key)
    elif isinstance(content, dict):
        for name, value in content.items():
            inner = f"{key}.{name}" if key else str(name)
            if name == "init_args" and not isinstance(value, dict):
                raise InputError(
                    f"{origin}: {inner} is {written(value)}; it must hold settings by name, such "
                    "as init_args: {batch_size: 64}"
                )
            _check_arguments(value, origin, inner)


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict | list):
        for value in content.values() if isinstance(content, dict) else content:
            yield from _texts(value)


def _is_file(path: Path) -> bool:
    """Whether a path is a regular file; a pipe, readable only once, is left to the parser."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long a name, or a null character
        return False
