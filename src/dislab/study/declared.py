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
    known, noun = declared(group), base.__name__.lower()
    if word not in known:
        raise InputError(
            f"no {noun} is named {word!r}{suggestion(word, known)}; the {noun}s are "
            f"{', '.join(known)}"
        )
    found = load_object(known[word])
    if not isinstance(found, type) or not issubclass(found, base):
        place = base.__module__.removesuffix(".base")
        raise InputError(f"{known[word].value} of {group} is no {place}.{base.__name__}")
    return found()
