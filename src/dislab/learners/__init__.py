"""Learners on codes: what scores and predictors fit."""

from dislab.learners.histogram_boosting import HistogramBoosting
from dislab.learners.histogram_regression import HistogramRegression
from dislab.learners.lasso_regression import LassoRegression
from dislab.learners.latent_svc import LatentSVC
from dislab.learners.logistic_classifier import LogisticClassifier
from dislab.learners.one_vs_rest_logistic import OneVsRestLogistic
from dislab.learners.ridge_regression import RidgeRegression
from dislab.learners.tree_ensemble import TreeEnsemble

__all__ = [
    "HistogramBoosting",
    "HistogramRegression",
    "LassoRegression",
    "LatentSVC",
    "LogisticClassifier",
    "OneVsRestLogistic",
    "RidgeRegression",
    "TreeEnsemble",
]
