"""Predictors, which learn factors from codes."""

from dislab.predictors.gradient_boosting import GradientBoosting
from dislab.predictors.mlp import MLP
from dislab.predictors.nearest_neighbors import NearestNeighbors
from dislab.predictors.random_forest import RandomForest
from dislab.predictors.ridge import Ridge

__all__ = ["MLP", "GradientBoosting", "NearestNeighbors", "RandomForest", "Ridge"]
