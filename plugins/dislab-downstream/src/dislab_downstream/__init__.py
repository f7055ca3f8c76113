"""Downstream tasks on the codes of a model: fairness and abstract reasoning."""

from dislab_downstream.fairness import Unfairness, total_variation, unfairness
from dislab_downstream.matrices import Matrices, draw_matrices
from dislab_downstream.observations import Observations, of_arrays, of_run
from dislab_downstream.reasoning import Task, draw_task, reasoning
from dislab_downstream.relation_network import RelationNetwork

__all__ = [
    "Matrices",
    "Observations",
    "RelationNetwork",
    "Task",
    "Unfairness",
    "draw_matrices",
    "draw_task",
    "of_arrays",
    "of_run",
    "reasoning",
    "total_variation",
    "unfairness",
]
