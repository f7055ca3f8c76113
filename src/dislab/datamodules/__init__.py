"""Data modules: choose the states that form a batch."""

from dislab.datamodules.clamped_data import ClampedData
from dislab.datamodules.composition_data import CompositionData
from dislab.datamodules.paired_data import PairedData
from dislab.datamodules.single_data import SingleData
from dislab.datamodules.symbol_data import SymbolData
from dislab.datamodules.transition_data import TransitionData

__all__ = [
    "ClampedData",
    "CompositionData",
    "PairedData",
    "SingleData",
    "SymbolData",
    "TransitionData",
]
