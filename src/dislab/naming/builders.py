"""Builders of parts by name or class, their seeds, and records of their settings."""

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from platform import python_version
from typing import Any, Final, TypeAlias

from dislab import plugins
from dislab.errors import InputError
from dislab.naming.words import builders_of
from dislab.yaml_files import is_yaml

_DISTRIBUTIONS: Final = (
    "dislab",
    "torch",
    "lightning",
    "torchmetrics",
    "numpy",
    "scipy",
    "scikit-learn",
)
"""Distributions that any result may depend on."""

Builder: TypeAlias = Callable[..., Any]
"""Makes a part: a class, a `functools.partial` of one, or a function."""

Choice: TypeAlias = str | Builder
"""A word, such as a plugin's class name or `MIG.bins=30`, or a builder."""

Choices: TypeAlias = Choice | Sequence[Choice] | Mapping[str, Choice]
"""One part, several, or several with names chosen by the user."""


def chosen(group: str, choices: Choices, seed: int, noun: str, example: str) -> dict[str, Builder]:
    """Builders of the chosen parts, by name.

    A part that the user did not name is named after its class; a second part of the class gets a
    number, as in `MIG_2`. Words in a row, as a command takes them, are one choice: settings of a
    class are of one part. Classes that take a seed get `seed` unless the user sets another. `noun`
    and `example` (a class with a setting) are for messages, here and in `builder`.

    Raises:
        InputError: A name is not a plugin, a choice is not a builder, or nothing is chosen.
    """
    if isinstance(choices, str) or callable(choices):
        choices = [choices]
    if not choices:
        raise InputError(
            f"no {noun} was chosen; name at least one (`dislab plugins {group}` lists them), or "
            "give None for the default ones"
        )
    if not isinstance(choices, Mapping):
        named: list[tuple[str, Builder]] = []
        for are_words, run in groupby(choices, lambda choice: isinstance(choice, str)):
            row: list[Any] = list(run)
            pairs = builders_of(group, row, noun, example).items() if are_words else None
            named += pairs or [(name_of(choice, noun), choice) for choice in row]
        names = _numbered([name for name, _ in named])
        choices = dict(zip(names, (choice for _, choice in named), strict=True))
    return {
        name: seeded(builder(group, choice, noun, example), seed)
        for name, choice in choices.items()
    }


def builder(group: str, choice: object, noun: str, example: str) -> Builder:
    """The builder of a choice.

    Raises:
        InputError: The name is not a plugin, or the choice is not a builder.
    """
    if isinstance(choice, str):
        if is_yaml(choice):
            raise InputError(
                f"{choice!r} is a file, which names each {noun} in it; give it in a list of {noun}s"
            )
        (build,) = builders_of(group, [choice], noun, example).values()
        return build
    from torch.nn import Module  # which takes a second to import

    if not callable(choice) or isinstance(choice, Module):
        shown = f"an object of {type(choice).__name__}" if callable(choice) else repr(choice)
        raise InputError(
            f"{shown} is no {noun}; give a class name such as {example.partition('.')[0]!r}, a "
            "class, or a functools.partial of a class"
        )
    return choice


def name_of(choice: object, unnamed: str) -> str:
    """The class name of a choice, the name of its function, or `unnamed`."""
    function = choice.func if isinstance(choice, functools.partial) else choice
    return function if isinstance(function, str) else getattr(function, "__name__", unnamed)


def seeded(build: Builder, seed: int) -> Builder:
    """The builder with a seed, if its class takes a seed that is not set yet."""
    cls = build.func if isinstance(build, functools.partial) else build
    takes = isinstance(cls, type) and "seed" in inspect.signature(cls).parameters
    if not takes or "seed" in _keywords(build):
        return build
    return functools.partial(build, seed=seed)


def settings(build: Builder, part: object, filled_in: int) -> dict[str, Any]:
    """The class of a part and all its settings, given and default, as JSON values.

    The owner of the part passes the first `filled_in` arguments, which are not settings.
    """
    cls = type(part)
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    leading = {parameter.name for parameter in parameters[:filled_in]}
    defaults = {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.default is not parameter.empty
    }
    merged = defaults | _keywords(build)
    return {
        "class_path": f"{cls.__module__}.{cls.__qualname__}",
        "init_args": {
            key: _plain(parameter) for key, parameter in merged.items() if key not in leading
        },
    }


def origins(group: str, part: object, engines: tuple[str, ...]) -> dict[str, str]:
    """Versions of the distribution that declares a part's class, and of the part's engines."""
    cls = type(part)
    declared = _declared(group).get(f"{cls.__module__}:{cls.__qualname__}", {})
    return declared | {engine: version_of(engine) for engine in engines}


def versions() -> dict[str, str]:
    """Versions of the packages that results may depend on; for PyTorch including its build."""
    return {name: version_of(name) for name in _DISTRIBUTIONS} | {"python": python_version()}


@functools.cache
def version_of(distribution: str) -> str:
    """The installed version of a distribution, with its build if known, or `unknown`."""
    # for PyTorch's default wheel, pip's version lacks the CUDA release; torch.__version__ has it
    declared = getattr(sys.modules.get(distribution), "__version__", None)
    try:
        return version(distribution) if declared is None else str(declared)
    except PackageNotFoundError:
        return "unknown"


def _numbered(names: Sequence[str]) -> list[str]:
    """Makes names unique: a repeated name gets a number."""
    different: dict[str, None] = {}
    for name in names:
        free, count = name, 2
        while free in different:
            free, count = f"{name}_{count}", count + 1
        different[free] = None
    return list(different)


# Reading metadata takes longer than most scores, and does not change while a process runs.
@functools.cache
def _declared(group: str) -> dict[str, dict[str, str]]:
    return {
        plugin.value: {plugin.distribution: plugin.version}
        for plugin in plugins.declarations(group)
    }


def _keywords(build: Builder) -> dict[str, Any]:
    return build.keywords if isinstance(build, functools.partial) else {}


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | list | tuple | None) else repr(value)
