"""Data modules made from index plans: splits, loaders, image residency, and resuming."""

from dislab.plans.index_plans import Drawn, IndexPlan
from dislab.plans.planned_data import PlannedData

__all__ = ["Drawn", "IndexPlan", "PlannedData"]
