"""Which predictors are meant by names, classes or builders, and the record of each."""

import functools
import inspect
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, TypeAlias, cast

from dislab import plugins
from dislab.base import Predictor, PredictorBuilder
from dislab.errors import InputError

DEFAULT: Final = ("GradientBoosting", "MLP")
"""What stands for nothing, as far as it is installed: the two that the paper reports."""

Choice: TypeAlias = str | PredictorBuilder
"""A plug-in's class name, or what makes a predictor: a class or a `functools.partial` of one."""

Choices: TypeAlias = Choice | Sequence[Choice] | Mapping[str, Choice] | None
"""Some predictors; with names of the user's own in a mapping; None for the default ones."""


def builders(choices: Choices, seed: int) -> dict[str, PredictorBuilder]:
    """What makes each of the chosen predictors, by name.

    Args:
        choices: The predictors.
        seed: Given to every class that has a setting `seed` of its own which nobody set.

    Raises:
        InputError: A name is no plug-in, a choice makes no predictor, or nothing is chosen.
    """
    if choices is None:
        installed = {plugin.name for plugin in plugins.available("predictors")}
        choices = [name for name in DEFAULT if name in installed] or ["Ridge"]
    if isinstance(choices, str) or callable(choices):
        choices = [choices]
    if not isinstance(choices, Mapping):
        named = {_name(choice): choice for choice in choices}
        if len(named) < len(choices):
            raise InputError(
                "two predictors have one name; give them names of your own: {small: …, large: …}"
            )
        choices = named
    if not choices:
        raise InputError("no predictor was chosen; `dislab plugins predictors` lists them")
    return {name: _seeded(_builder(choice), seed) for name, choice in choices.items()}


def made(name: str, build: PredictorBuilder, latents: int, classes: tuple[int, ...]) -> Predictor:
    """A predictor that has learnt nothing yet.

    Args:
        name: What it is called, for messages.
        build: Makes it.
        latents: Number of latents.
        classes: Number of classes of each target.

    Raises:
        InputError: What is made is no predictor.
    """
    predictor = build(latents, classes)
    if not isinstance(predictor, Predictor):
        raise InputError(
            f"{name} makes a {type(predictor).__name__}, which is no dislab.base.Predictor"
        )
    return predictor


def settings_of(build: PredictorBuilder, predictor: Predictor) -> dict[str, Any]:
    """The class of a predictor, its settings, given and default, and versions behind it.

    Args:
        build: What made it.
        predictor: What was made.
    """
    cls = type(predictor)
    own = list(inspect.signature(cls.__init__).parameters.values())[3:]
    defaults = {one.name: one.default for one in own if one.default is not one.empty}
    given = build.keywords if isinstance(build, functools.partial) else {}
    names = (cls.__module__.partition(".")[0], *cls.engines)
    return {
        "class_path": f"{cls.__module__}.{cls.__qualname__}",
        "init_args": {
            key: value
            if isinstance(value, str | int | float | list | tuple | None)
            else repr(value)
            for key, value in (defaults | dict(given)).items()
        },
        "versions": {name: found for name in names if (found := _version(name))},
    }


def _builder(choice: object) -> PredictorBuilder:
    if isinstance(choice, str):
        return cast(PredictorBuilder, plugins.load("predictors", choice))
    if not callable(choice):
        raise InputError(
            f"{choice!r} is no predictor; give a class name such as 'Ridge', a class, or a "
            "functools.partial of a class"
        )
    return cast(PredictorBuilder, choice)


def _name(choice: object) -> str:
    function = choice.func if isinstance(choice, functools.partial) else choice
    return function if isinstance(function, str) else getattr(function, "__name__", "predictor")


def _seeded(build: PredictorBuilder, seed: int) -> PredictorBuilder:
    given = build.keywords if isinstance(build, functools.partial) else {}
    cls = build.func if isinstance(build, functools.partial) else build
    takes = isinstance(cls, type) and "seed" in inspect.signature(cls).parameters
    if not takes or "seed" in given:
        return build
    return cast(PredictorBuilder, functools.partial(cast(Any, build), seed=seed))


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | list | tuple | None) else repr(value)


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
