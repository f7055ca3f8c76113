"""Default predictors, builders of chosen ones, and their settings for the record."""

from typing import Any, Final, TypeAlias

from dislab import plugins
from dislab.base import Predictor, PredictorBuilder
from dislab.base.failures import parts_named
from dislab.base.parts import make_part
from dislab.errors import InputError
from dislab.naming.builders import Choices as Parts
from dislab.naming.builders import chosen, origins, settings

DEFAULT: Final = ("GradientBoosting", "MLP")
"""The default predictors, as far as they are installed: the two that the paper reports."""

CHANCE: Final = "chance"
"""Name of the prediction without codes among the predictors."""

Choices: TypeAlias = Parts | None
"""Choice of predictors; None for the default ones."""


def builders(choices: Choices, seed: int) -> dict[str, PredictorBuilder]:
    """Builders of the chosen predictors by name; the seed goes to those without one of their own.

    Raises:
        InputError: A name is no plugin or is reserved for chance, or a choice is empty or no
            builder.
    """
    if choices is None:
        installed = {plugin.name for plugin in plugins.available("predictors")}
        choices = [name for name in DEFAULT if name in installed] or ["Ridge"]
    predictors = chosen("predictors", choices, seed, "predictor", "Ridge.penalty=0.1")
    if CHANCE in predictors:
        raise InputError(
            f"no predictor can be called {CHANCE}, as the prediction without codes is; choose "
            "another name"
        )
    return predictors


def built_predictor(build: PredictorBuilder, latents: int, classes: tuple[int, ...]) -> Predictor:
    """Builds an unfitted predictor.

    Args:
        build: Builder of the predictor.
        latents: Number of latents.
        classes: Number of classes of each target.

    Raises:
        InputError: The result of the builder is no predictor.
    """
    with parts_named():
        return make_part(Predictor, build, latents=latents, classes=classes)


def recorded_settings(build: PredictorBuilder, predictor: Predictor) -> dict[str, Any]:
    """The class of a predictor, all its settings including defaults, and package versions.

    Args:
        build: Builder of the predictor.
        predictor: The predictor.
    """
    versions = origins("predictors", predictor, predictor.engines)
    return settings(build, predictor, filled_in=2) | {"versions": versions}
