"""Callbacks: scores, pictures and codes of a run, written into its folder."""

from dislab.callbacks.concept_scores import ConceptScores
from dislab.callbacks.evaluate import Evaluate
from dislab.callbacks.interpolations import Interpolations
from dislab.callbacks.reconstructions import Reconstructions
from dislab.callbacks.representations import Representations
from dislab.callbacks.samples import Samples
from dislab.callbacks.stop_on_signal import StopOnSignal
from dislab.callbacks.transfer_scores import TransferScores
from dislab.callbacks.traversals import Traversals

__all__ = [
    "ConceptScores",
    "Evaluate",
    "Interpolations",
    "Reconstructions",
    "Representations",
    "Samples",
    "StopOnSignal",
    "TransferScores",
    "Traversals",
]
