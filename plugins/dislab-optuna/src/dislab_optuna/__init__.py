"""Searches of studies by Optuna."""

from dislab_optuna.sampler import OptunaSampler

__all__ = ["OptunaSampler"]
