"""Learners on codes: what scores and predictors fit."""

from dislab.learners.histogram_boosting import HistogramBoosting
from dislab.learners.histogram_regression import HistogramRegression
from dislab.learners.lasso_regression import LassoRegression
from dislab.learners.linear_models import latent_machines, logits_of_answers
from dislab.learners.logistic_classifier import LogisticClassifier
from dislab.learners.ridge_regression import RidgeRegression
from dislab.learners.tree_ensemble import TreeEnsemble

__all__ = [
    "HistogramBoosting",
    "HistogramRegression",
    "LassoRegression",
    "LogisticClassifier",
    "RidgeRegression",
    "TreeEnsemble",
    "latent_machines",
    "logits_of_answers",
]
