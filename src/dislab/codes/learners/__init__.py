"""Models fitted on codes by scores and predictors."""

from dislab.codes.learners.histogram_boosting import HistogramBoosting, HistogramRegression
from dislab.codes.learners.linear_classifiers import (
    LogisticClassifier,
    latent_machines,
    logits_of_answers,
)
from dislab.codes.learners.linear_regressions import (
    LassoRegression,
    Regression,
    RidgeRegression,
    predicted_block,
)
from dislab.codes.learners.tree_ensemble import TreeEnsemble

__all__ = [
    "HistogramBoosting",
    "HistogramRegression",
    "LassoRegression",
    "LogisticClassifier",
    "Regression",
    "RidgeRegression",
    "TreeEnsemble",
    "latent_machines",
    "logits_of_answers",
    "predicted_block",
]
