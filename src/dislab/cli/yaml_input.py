"""Configuration files and values on the command line: YAML checks, merging, differences."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from jsonargparse import (  # type: ignore[attr-defined]  # public, but not in its list of names
    ActionConfigFile,
    Namespace,
)

from dislab.errors import InputError, suggestion
from dislab.runs import CONFIG
from dislab.yaml_files import (
    check_keys,
    check_limits,
    is_yaml,
    parse_mapping,
    parse_yaml,
    read_text,
    written,
)

_CONFIGS: Final = ("--config", "-c")
_FOLDERS: Final = ("--run", "--resume")
_SECTIONS: Final = ("--model", "--data", "--trainer", "--optimizer", "--lr_scheduler")
"""Options that accept a file, of any name, instead of their settings."""
_MAIN_SECTIONS: Final = ("model", "data")
"""Sections that name a class."""
_SPECIFICATION: Final = ("class_path", "init_args", "dict_kwargs")
_ON_THE_COMMAND_LINE: Final = ("config", "help", "print_config")
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
            _check_names(check_limits(value, option), option, is_config)


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
    _check_names(content, str(path), is_config)
    for value in filter(is_yaml, list(_texts(content))):
        if _is_file(inner := path.parent / value):
            _check_file(inner, False, seen)


def _check_names(content: object, origin: str, is_config: bool, key: str = "") -> None:
    """Refuses keys that name no setting, and parts whose settings are not in `init_args`."""
    if isinstance(content, list):
        for value in content:
            _check_names(value, origin, False, key)
    if not isinstance(content, dict):
        return
    check_keys(content, origin, key)
    for name, value in content.items():
        if is_config and name in _ON_THE_COMMAND_LINE:
            raise InputError(
                f"{origin}: {name} is an option of the command line; leave it out of the "
                "configuration"
            )
        if is_config and name in _MAIN_SECTIONS and value is None:
            raise InputError(f"{origin}: {name} is empty; give it settings, or leave it out")
        inner = f"{key}.{name}" if key else name
        plain = inner.replace(".init_args.", ".")
        if name == "init_args" and not isinstance(value, dict):
            example = "latent_dim: 10" if inner == "model.init_args" else "batch_size: 64"
            raise InputError(
                f"{origin}: {plain} is {written(value)}; it must hold settings by name, such "
                f"as init_args: {{{example}}}"
            )
        if {"class_path", "init_args"} & content.keys() and name not in _SPECIFICATION:
            given = "a class_path" if "class_path" in content else "init_args"
            hint = suggestion(name, _SPECIFICATION)
            remedy = f"settings of a class are below its init_args: {{{name}: …}}"
            raise InputError(f"{origin}: {plain} is beside {given}{hint or f'; {remedy}'}")
        _check_names(value, origin, False, inner)


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


_NULL: Final = ("null", "None")


class ConfigFile(ActionConfigFile):
    """The option `--config`, which merges named parts with those that are set before it."""

    def __call__(self, parser: Any, cfg: Any, values: Any, option_string: Any = None) -> None:
        """Reads a file; the parser merges its text with the settings so far.

        Args:
            parser: The parser of the command.
            cfg: The settings so far, which are updated.
            values: The file, or its text.
            option_string: The option as it was written.
        """
        is_first, parser.earlier = not cfg.get("config"), cfg
        if is_first:
            parser.first = str(values)
            parser.default_groups = {
                f"{section}.{name}": group
                for section, settings in vars(cfg).items()
                for name, group in (
                    vars(settings) if isinstance(settings, Namespace) else {}
                ).items()
                if _are_parts(group)
            }
        try:
            super().__call__(parser, cfg, values, option_string)  # type: ignore[no-untyped-call]
        except (InputError, TypeError) as error:
            message = str(error).removeprefix('Parser key "config": ')
            raise InputError(
                f"{values}: {message}" if _is_file(Path(values)) else message
            ) from error
        if is_first:
            parser.start = [], cfg.clone()
        if _is_file(Path(values)):
            parser.start[0].append(Path(values).name)


def merged(
    settings: Mapping[str, Any], earlier: Any, defaults: Mapping[str, Any], section: str = ""
) -> dict[str, Any]:
    """The settings of a file, in which each group of named parts also has the earlier parts.

    A part that is null is removed; an empty group removes all parts. A default group is
    replaced, unless a part of it is removed.

    Args:
        settings: The content of a file, or of one of its sections.
        earlier: The settings before the file, as the parser keeps them.
        defaults: Groups of named parts that no file has set, by dotted name.
        section: Its dotted name.

    Raises:
        InputError: A part to be removed does not exist.
    """
    combined = dict(settings)
    for name, value in settings.items():
        before = _setting(earlier, name)
        inner = section if name in _SPECIFICATION else f"{section}.{name}".lstrip(".")
        if not isinstance(value, Mapping) or _class(value, before) != _class(before, value):
            continue
        if not _are_parts(before):
            combined[name] = merged(value, before, defaults, inner)
        elif value and (
            None in value.values() or inner not in defaults or before != defaults[inner]
        ):
            _check_removed(value, before, inner)
            all_parts = {**{key: {} for key in before}, **merged(value, before, defaults, inner)}
            combined[name] = {key: part for key, part in all_parts.items() if part is not None}
    return combined


def removals(args: Sequence[str]) -> list[str]:
    """The arguments with options that set a part to null as files that remove it."""
    arguments: list[str] = []
    for arg in args:
        option, equals, value = arg.partition("=")
        if not equals and arg in _NULL and arguments and _is_nested(arguments[-1]):
            option, value = arguments.pop(), arg
        elif not (equals and value in _NULL and _is_nested(option)):
            arguments.append(arg)
            continue
        text = "null"
        for word in reversed(option.removeprefix("--").split(".")):
            text = f"{{{word}: {text}}}"
        arguments.append(f"--config={text}")
    return arguments


def differences(first: Any, last: Any, name: str = "") -> Iterator[str]:
    """Parts that differ between two configurations, such as `regularizers: +mine, -tc`.

    Args:
        first: Settings as the parser keeps them.
        last: The other settings.
        name: Name of the setting.
    """
    first = vars(first) if isinstance(first, Namespace) else first
    last = vars(last) if isinstance(last, Namespace) else last
    if not isinstance(first, Mapping) or not isinstance(last, Mapping):
        return
    if (before := _class(first, last)) != (after := _class(last, first)):
        yield f"{name}: {after} instead of {before}"
    elif _are_parts(first) or _are_parts(last):
        added = [f"+{key}" for key in last if key not in first]
        if changed := added + [f"-{key}" for key in first if key not in last]:
            yield f"{name}: {', '.join(changed)}"
        for key in [key for key in last if key in first]:
            yield from differences(first[key], last[key], key)
    else:
        for key, value in last.items():
            inner = name if key in _SPECIFICATION else key
            yield from differences(_setting(first, key), value, inner)


def _is_nested(option: str) -> bool:
    """Whether an option sets something inside a group of a section, such as a regularizer."""
    return option.startswith("--") and "=" not in option and option.count(".") >= 2


def _setting(settings: Any, name: str) -> Any:
    """A setting by name, also one of `init_args` that a file gives without this word."""
    if not isinstance(settings, Mapping | Namespace):
        return None
    if "class_path" in settings and name not in _SPECIFICATION:
        settings = settings.get("init_args") or {}
    return settings.get(name)


def _class(part: Any, compared: Any) -> str | None:
    """Name of the class of a part; None unless both are parts that name a class."""
    if any(
        not isinstance(settings, Mapping | Namespace) or not settings.get("class_path")
        for settings in (part, compared)
    ):
        return None
    return str(part["class_path"]).rpartition(".")[2]


def _are_parts(group: Any) -> bool:
    """Whether a setting is a group of named parts, such as regularizers or scores."""
    return (
        isinstance(group, Mapping)
        and bool(group)
        and all(
            isinstance(part, Mapping | Namespace) and "class_path" in part
            for part in group.values()
        )
    )


def _check_removed(value: Mapping[str, Any], before: Mapping[str, Any], section: str) -> None:
    for name, part in value.items():
        if part is None and name not in before:
            raise InputError(
                f"{section}.{name} is null, which removes a part, and there is none of this name; "
                f"{section} has {', '.join(before)}"
            )
