"""Which scores are meant by names, classes, builders, or nothing at all."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from dislab import plugins
from dislab.base import MetricBuilder
from dislab.builders import builder, name_of, seeded
from dislab.errors import InputError

DEFAULT: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "mig": ("MIG", {}),
    "dci_hgbt": ("DCI", {}),
    "sap_r2": ("SAP", {"predictor": "r2"}),
    "sap_svc": ("SAP", {"predictor": "svc"}),
    "modularity": ("Modularity", {}),
    "explicitness": ("Explicitness", {}),
    "factor_vae_score": ("FactorVAEScore", {}),
    "beta_vae_score": ("BetaVAEScore", {}),
    "gaussian_total_correlation": ("GaussianTotalCorrelation", {}),
    "wasserstein_correlation": ("WassersteinCorrelation", {}),
    "mean_pairwise_mi": ("MeanPairwiseMI", {}),
}
"""The default set: class and settings of each score, by the name that stands for it."""

Choice: TypeAlias = str | MetricBuilder
"""A plugin's class name, or what makes a score: a class, a `functools.partial`, a function."""

Choices: TypeAlias = Choice | Sequence[Choice] | Mapping[str, Choice] | None
"""Some scores; with names of the user's own in a mapping; None for the default set."""


def builders(choices: Choices, seed: int) -> dict[str, MetricBuilder]:
    """What makes each of the chosen scores, by name.

    Args:
        choices: The scores.
        seed: Given to every class that has a setting `seed` of its own which nobody set.

    Raises:
        InputError: A name is no plugin, a choice makes no score, or nothing is chosen.
    """
    if choices is None:
        named = _default()
    elif isinstance(choices, Mapping):
        named = {name: _builder(choice) for name, choice in choices.items()}
    elif isinstance(choices, str) or callable(choices):
        named = {_name(choices): _builder(choices)}
    else:
        named = {}
        for choice in choices:
            named[_free(_name(choice), named)] = _builder(choice)
    if not named:
        raise InputError("no score was chosen; name at least one, or give None for the default set")
    return {name: seeded(build, seed) for name, build in named.items()}


def _default() -> dict[str, MetricBuilder]:
    """The default set, as far as it is installed."""
    installed = {plugin.name for plugin in plugins.available("metrics")}
    return {
        name: functools.partial(_builder(cls), **settings)
        for name, (cls, settings) in DEFAULT.items()
        if cls in installed
    }


def _builder(choice: object) -> MetricBuilder:
    return builder("metrics", choice, "score", "MIG")


def _name(choice: object) -> str:
    return name_of(choice, "score")


def _free(name: str, taken: Mapping[str, object]) -> str:
    """The name, numbered when it is taken."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free
