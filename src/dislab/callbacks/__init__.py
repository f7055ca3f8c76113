"""Callbacks: scores, pictures and codes of a run, written into its folder."""

from dislab.callbacks.inner_steps import InnerSteps
from dislab.callbacks.pictures import Interpolations, Reconstructions, Samples, Traversals
from dislab.callbacks.progress import Progress
from dislab.callbacks.representations import Representations
from dislab.callbacks.run_page import RunPage
from dislab.callbacks.scores import (
    ConceptScores,
    Evaluate,
    Generalisation,
    ScoreCurves,
    TransferScores,
)
from dislab.callbacks.stop_on_signal import StopOnSignal
from dislab.training.checkpoints import Checkpoints

__all__ = [
    "Checkpoints",
    "ConceptScores",
    "Evaluate",
    "Generalisation",
    "InnerSteps",
    "Interpolations",
    "Progress",
    "Reconstructions",
    "Representations",
    "RunPage",
    "Samples",
    "ScoreCurves",
    "StopOnSignal",
    "TransferScores",
    "Traversals",
]
