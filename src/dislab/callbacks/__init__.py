"""Callbacks: scores, pictures and codes of a run, written into its folder."""

from dislab.callbacks.checkpoints import Checkpoints
from dislab.callbacks.concept_scores import ConceptScores
from dislab.callbacks.evaluate import Evaluate
from dislab.callbacks.generalisation import Generalisation
from dislab.callbacks.inner_steps import InnerSteps
from dislab.callbacks.interpolations import Interpolations
from dislab.callbacks.reconstructions import Reconstructions
from dislab.callbacks.representations import Representations
from dislab.callbacks.samples import Samples
from dislab.callbacks.stop_on_signal import StopOnSignal
from dislab.callbacks.transfer_scores import TransferScores
from dislab.callbacks.traversals import Traversals

__all__ = [
    "Checkpoints",
    "ConceptScores",
    "Evaluate",
    "Generalisation",
    "InnerSteps",
    "Interpolations",
    "Reconstructions",
    "Representations",
    "Samples",
    "StopOnSignal",
    "TransferScores",
    "Traversals",
]
