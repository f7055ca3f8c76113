"""The default set of scores, and builders of chosen scores."""

import functools
from typing import Any, Final, TypeAlias

from dislab import plugins
from dislab.base import MetricBuilder
from dislab.builders import Choices as Parts
from dislab.builders import chosen

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
"""The default set: class and settings of each score, by name."""

Choices: TypeAlias = Parts | None
"""Some scores; None for the default set."""


def builders(choices: Choices, seed: int) -> dict[str, MetricBuilder]:
    """Builders of the chosen scores by name; scores without a seed of their own get `seed`."""
    metrics = _default() if choices is None else choices
    return chosen("metrics", metrics, seed, "score", "MIG")


def _default() -> dict[str, MetricBuilder]:
    """The scores of the default set that are installed."""
    installed = {plugin.name for plugin in plugins.available("metrics")}
    return {
        name: functools.partial(plugins.load("metrics", cls), **settings)
        for name, (cls, settings) in DEFAULT.items()
        if cls in installed
    }
