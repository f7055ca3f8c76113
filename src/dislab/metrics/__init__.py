"""Scores of codes against the factors that made the images."""

from dislab.metrics._evaluate import evaluate, evaluate_fully
from dislab.metrics.dci import DCI
from dislab.metrics.evaluation import Evaluation
from dislab.metrics.factor_vae_score import FactorVAEScore
from dislab.metrics.mig import MIG

__all__ = [
    "DCI",
    "MIG",
    "Evaluation",
    "FactorVAEScore",
    "evaluate",
    "evaluate_fully",
]
