"""Which predictors are meant by names, classes or builders, and the record of each."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from dislab import plugins
from dislab.base import Predictor, PredictorBuilder
from dislab.base.failures import parts_named
from dislab.builders import builder, name_of, origins, seeded, settings
from dislab.errors import InputError

DEFAULT: Final = ("GradientBoosting", "MLP")
"""What stands for nothing, as far as it is installed: the two that the paper reports."""

CHANCE: Final = "chance"
"""Name of the prediction without codes, beside those of the predictors."""

Choice: TypeAlias = str | PredictorBuilder
"""A plugin's class name, or what makes a predictor: a class or a `functools.partial` of one."""

Choices: TypeAlias = Choice | Sequence[Choice] | Mapping[str, Choice] | None
"""Some predictors; with names of the user's own in a mapping; None for the default ones."""


def builders(choices: Choices, seed: int) -> dict[str, PredictorBuilder]:
    """What makes each of the chosen predictors, by name.

    Args:
        choices: The predictors.
        seed: Given to every class that has a setting `seed` of its own which nobody set.

    Raises:
        InputError: A name is no plugin, a choice makes no predictor, or nothing is chosen.
    """
    if choices is None:
        installed = {plugin.name for plugin in plugins.available("predictors")}
        choices = [name for name in DEFAULT if name in installed] or ["Ridge"]
    if isinstance(choices, str) or callable(choices):
        choices = [choices]
    if not isinstance(choices, Mapping):
        named = {name_of(choice, "predictor"): choice for choice in choices}
        if len(named) < len(choices):
            raise InputError(
                "two predictors have one name; give them names of your own: {small: …, large: …}"
            )
        choices = named
    if not choices:
        raise InputError("no predictor was chosen; `dislab plugins predictors` lists them")
    if CHANCE in choices:
        raise InputError(
            f"no predictor can be called {CHANCE}, as the prediction without codes is; choose "
            "another name"
        )
    return {
        name: seeded(builder("predictors", choice, "predictor", "Ridge"), seed)
        for name, choice in choices.items()
    }


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
    with parts_named():
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
    versions = origins("predictors", predictor, predictor.engines)
    return settings(build, predictor, filled_in=2) | {"versions": versions}
