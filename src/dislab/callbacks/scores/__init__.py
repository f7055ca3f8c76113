"""Scores of a trained objective, written into `scores.json` of the run."""

from dislab.callbacks.scores.concept_scores import ConceptScores
from dislab.callbacks.scores.evaluate import Evaluate
from dislab.callbacks.scores.generalisation import Generalisation
from dislab.callbacks.scores.score_curves import ScoreCurves
from dislab.callbacks.scores.transfer_scores import TransferScores

__all__ = ["ConceptScores", "Evaluate", "Generalisation", "ScoreCurves", "TransferScores"]
