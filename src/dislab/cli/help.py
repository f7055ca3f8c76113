"""`dislab help NAME`: help on a command, a verb, a group of parts, a part, or a configuration."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from dislab.cli import COMMANDS, OTHER_NAMES, TRAINING
from dislab.errors import InputError
from dislab.plugins import GROUPS, available, configurations, hint_for

OPTION: Final = {
    "objectives": "model",
    "regularizers": "model.regularizers",
    "encoders": "model.encoder",
    "decoders": "model.decoder",
    "datamodules": "data",
    "datasets": "data.dataset",
    "metrics": "evaluate.metrics",
    "predictors": "transfer.predictors",
    "callbacks": "trainer.callbacks",
}
"""The option of `dislab fit` that takes the parts of a group, and whose help explains them."""

_WITH_WORDS: Final = ("draw", "study", "data", "configs", "plugins")
"""Commands of dislab that have verbs, or kinds of their results."""


def command_line(words: Sequence[str], commands: Collection[str]) -> list[str]:
    """The command and arguments that print the help on a name.

    Args:
        words: The name; of a verb, the command and the verb.
        commands: Names of all commands.

    Raises:
        InputError: Nothing has the name.
    """
    first, *others = words
    if first not in commands:
        if line := explained(first):
            return line
        raise _unknown(first, commands)
    if not others:
        return [first, "--help"]
    if line := explained(others[0]):
        return line
    if first in TRAINING:  # a section of the settings
        return [first, "--help", *others]
    if first in COMMANDS and first not in _WITH_WORDS:
        raise _unknown(others[0], commands)
    return [first, *others, "--help"]


def explained(name: str) -> list[str] | None:
    """The command and arguments that explain a group, a part or a configuration; None if none.

    A name in other letters is found too: `FactorVAE` is the configuration `factorvae`.

    Args:
        name: Its name.
    """
    if name in GROUPS:
        return ["plugins", name]
    names = _names()
    if name in names:
        return names[name]
    return {_letters(other): line for other, line in reversed(names.items())}.get(_letters(name))


def _names() -> dict[str, list[str]]:
    """What explains each part and each configuration."""
    names = {
        plugin.name: ["fit", f"--{option}.help", plugin.name]
        for group, option in OPTION.items()
        for plugin in available(group)
    }
    return names | {name: ["configs", "show", name] for name in configurations()}


def _letters(name: str) -> str:
    """The letters and digits of a name without its folder, in lower case."""
    return re.sub(r"[^a-z0-9]", "", name.rpartition("/")[2].removesuffix(".yaml").lower())


def _unknown(name: str, commands: Collection[str]) -> InputError:
    equivalent = OTHER_NAMES.get(name.lower())
    hint = (
        f" (did you mean dislab {equivalent}?)"
        if equivalent
        else hint_for(name, [*commands, *GROUPS, *_names()])
    )
    return InputError(
        f"no command, part or configuration is named {name!r}{hint}; `dislab --help` lists the "
        "commands, `dislab plugins` the parts, `dislab configs list` the configurations"
    )
