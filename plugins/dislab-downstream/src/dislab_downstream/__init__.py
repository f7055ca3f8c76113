"""Downstream tasks on the codes of a model: fairness and abstract reasoning."""

from dislab_downstream.fairness import Unfairness, total_variation, unfairness
from dislab_downstream.observations import Observations, of_arrays, of_run

__all__ = [
    "Observations",
    "Unfairness",
    "of_arrays",
    "of_run",
    "total_variation",
    "unfairness",
]
