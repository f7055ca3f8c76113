"""Learners on codes: what scores and predictors fit."""

from dislab.learners.histogram_boosting import HistogramBoosting

__all__ = [
    "HistogramBoosting",
]
