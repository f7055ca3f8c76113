"""Scores of codes against the factors that made the images."""

from dislab.metrics.dci import DCI
from dislab.metrics.factor_vae_score import FactorVAEScore
from dislab.metrics.mig import MIG

__all__ = [
    "DCI",
    "MIG",
    "FactorVAEScore",
]
