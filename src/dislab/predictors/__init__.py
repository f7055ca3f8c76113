"""Predictors: what learns factors from codes."""

from dislab.predictors.ridge import Ridge

__all__ = ["Ridge"]
