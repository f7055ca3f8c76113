"""Regularisers: named terms of a loss over codes."""

from dislab.regularizers.capacity_kl import CapacityKL
from dislab.regularizers.decomposed_kl import DecomposedKL
from dislab.regularizers.dip import DIP
from dislab.regularizers.kl import KL
from dislab.regularizers.label_fit import LabelFit
from dislab.regularizers.total_correlation import TotalCorrelation

__all__ = [
    "DIP",
    "KL",
    "CapacityKL",
    "DecomposedKL",
    "LabelFit",
    "TotalCorrelation",
]
