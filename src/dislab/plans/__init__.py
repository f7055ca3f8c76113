"""Data modules made from index plans: splits, loaders, image residency, and resuming."""

from dislab.plans.few_labels import FewLabels
from dislab.plans.index_plans import Drawn, IndexPlan
from dislab.plans.planned_data import PlannedData

__all__ = ["Drawn", "FewLabels", "IndexPlan", "PlannedData"]
