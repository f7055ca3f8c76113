"""Models fitted on codes by scores and predictors."""

from dislab.codes.learners.block_regression import Regression, predicted_block
from dislab.codes.learners.histogram_boosting import HistogramBoosting, HistogramRegression
from dislab.codes.learners.lasso_regression import LassoRegression
from dislab.codes.learners.linear_models import latent_machines, logits_of_answers
from dislab.codes.learners.logistic_classifier import LogisticClassifier
from dislab.codes.learners.ridge_regression import RidgeRegression
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
