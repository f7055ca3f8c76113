"""Help on a part of a section, such as `--data.dataset.help Shapes3D`, and missing values."""

import re
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from io import StringIO
from typing import Any, Final

from dislab.cli.messages import NAMED_PARTS, OF_TORCH, base_of, filled_in, group_of, unknown_class
from dislab.errors import InputError
from dislab.naming.classes import find_object
from dislab.plugins import available

SECTION_CLASSES: Final = {"model": "VAE", "data": "SingleData"}
"""Sections that hold the settings of a class, and such a class."""

_PART_HELP: Final = re.compile(r"--((model|data|evaluate|transfer)\.[\w.]+)\.help(?:=(.*))?")
_ANY_HELP: Final = re.compile(r"--(model|data|evaluate|transfer)(\.[\w.]+)?\.help(=.*)?")
_FLAGS: Final = ("--print_config", "--print_shtab")
"""Options with a value that jsonargparse takes behind an equals sign only."""
_NAMING: Final = ("--config", "-c", "--model", "--data", "--run", "--resume")
"""Options that may name the class of a section."""


def check_values(args: Sequence[str], parser: ArgumentParser) -> None:
    """Refuses an option that needs a value and has none, which jsonargparse calls by its section.

    Args:
        args: The arguments of a training command.
        parser: Its parser.

    Raises:
        InputError: An option has no value.
    """
    for option, following in zip(args, [*args[1:], "--"], strict=True):
        if not option.startswith("--") or "=" in option or not following.startswith("--"):
            continue
        action = parser._option_string_actions.get(option)
        nested = option.startswith(tuple(f"--{section}." for section in SECTION_CLASSES))
        takes_one = nested if action is None else action.nargs not in (0, "?")
        if takes_one and not option.endswith(".help") and option not in _FLAGS:
            raise InputError(f"{option} has no value; write {option} VALUE")


def help_last(args: Sequence[str]) -> list[str]:
    """The arguments with a request for help on a class behind those that it may depend on.

    Args:
        args: The arguments of a training command.
    """
    for index, arg in enumerate(args):
        if _ANY_HELP.fullmatch(arg):
            end = index + (1 if "=" in arg or [*args[index + 1 :], "-"][0].startswith("-") else 2)
            return [*args[:index], *args[end:], *args[index:end]]
    return list(args)


def part_help(args: Sequence[str]) -> tuple[str, list[str]] | None:
    """The part that arguments ask for help on, and complete arguments; None for no such request.

    Without the name of a class, the help lists all of them; without a configuration, the part is
    that of a VAE or of single images.

    Args:
        args: The arguments of a training command.

    Raises:
        InputError: The setting is not a part.
    """
    for index, arg in enumerate(args):
        if not (match := _PART_HELP.fullmatch(arg)):
            continue
        setting, section, name = match.groups()
        above = setting.rpartition(".")[0]
        if above.rpartition(".")[2] in NAMED_PARTS:  # as in model.regularizers.kl.help
            setting = above
        following = [*args[index + 1 :], "-"][0]
        if name is None:
            name = "" if following.startswith("-") else following
        if not name:
            name = _every_class(setting)
        elif (group := group_of(setting)) and not _is_class(name, group):
            raise InputError(f"{setting}: {unknown_class(name, setting)}")
        before = [option.partition("=")[0] for option in args[:index]]
        named = []
        if section in SECTION_CLASSES and not set(before) & set(_NAMING):
            named = [f"--{section}", SECTION_CLASSES[section]]
        return setting, [*named, *args[:index], f"--{setting}.help={name}"]
    return None


def print_part_help(parse: Callable[[list[str]], Any], setting: str, args: list[str]) -> None:
    """Prints help on a part, with the names of its settings as the command line takes them.

    Args:
        parse: Parses arguments, and prints the help that they ask for.
        setting: The part, such as `data.dataset`.
        args: The arguments.

    Raises:
        SystemExit: Always, with status 0.
    """
    with redirect_stdout(StringIO()) as printed, suppress(SystemExit):
        parse(args)
    inner = setting.partition(".")[2]
    text = re.sub(rf"--{re.escape(inner)}(?=[. ])", f"--{setting}", printed.getvalue())
    if setting.rpartition(".")[2] in NAMED_PARTS:
        text = _of_named_part(text, setting, args[-1].partition("=")[2])
    print(text, end="")
    raise SystemExit(0)


def _of_named_part(text: str, setting: str, name: str) -> str:
    """Help on a part of a mapping: its options follow a name, and its owner fills some in."""
    option = re.escape(f"--{setting}.")
    for argument in filled_in(name, setting):
        entry = rf"^  {option}{argument}\b.*\n(?: {{3,}}.*\n)*"
        text = re.sub(entry, "", text, flags=re.MULTILINE)
    text = re.sub(r"\n\nSettings:\n(?=\n|$)", "\n\nIt has no settings.\n", text)
    text = re.sub(r"\n\n\S.*:\n(?=\n|$)", "\n", text)  # headings of nothing
    text = re.sub(rf"(--{re.escape(setting)}) (?=\w)", r"\1. ", text)  # NAME follows
    text = re.sub(rf"{option}(?!help\b)", f"--{setting}.NAME.", text)
    return text.replace(f"--{setting}.NAME. ", f"--{setting}.NAME ")


def _is_class(name: str, group: str) -> bool:
    """Whether a name is that of a part, or that of a class of the group with its module."""
    if "." not in name:
        return any(plugin.name == name for plugin in available(group))
    cls = find_object(name)
    return isinstance(cls, type) and issubclass(cls, base_of(group))


def _every_class(setting: str) -> str:
    """The base class of a part, whose help lists all classes."""
    if group := group_of(setting):
        return f"dislab.base.{base_of(group).__name__}"
    section, _, last = setting.partition(".")
    if last in OF_TORCH:
        _, home, example = OF_TORCH[last]
        raise InputError(f"--{setting}.help needs a class of {home}, such as {example}")
    cls = SECTION_CLASSES.get(section)
    where = f"--{section}.help {cls}` describes the settings of a class"
    if cls is None:
        where = f"--help {section}` describes its settings"
    raise InputError(f"{setting} is no part, and has no help of its own; `dislab fit {where}")
