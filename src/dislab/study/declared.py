"""Loads launchers and stages by name."""

from typing import Any

from dislab.errors import InputError, suggestion
from dislab.plugins import declared, load_object


def load_declared(group: str, word: str, base: type) -> Any:
    """Creates the launcher or stage that a distribution declares under the name `word`.

    `group` is the group of entry points, such as `dislab.launchers`.

    Raises:
        InputError: The name is not declared, its class is no `base`, or it cannot be imported.
    """
    plugins, noun = declared(group), base.__name__.lower()
    if word not in plugins:
        raise InputError(
            f"no {noun} is named {word!r}{suggestion(word, plugins)}; the {noun}s are "
            f"{', '.join(plugins)}"
        )
    cls = load_object(plugins[word])
    if not isinstance(cls, type) or not issubclass(cls, base):
        package = base.__module__.removesuffix(".base")
        raise InputError(f"{plugins[word].value} of {group} is no {package}.{base.__name__}")
    return cls()
