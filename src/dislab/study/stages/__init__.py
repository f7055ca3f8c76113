"""Stages of a study: the steps carried out in order for each run.

A stage is an entry point of the group `dislab.stages` whose key is its name in a study file.
"""

from dislab.study.stages.base import FIRST, Stage, checked_stages, load_stage, of_section, option
from dislab.study.stages.codes import CodesStage
from dislab.study.stages.generalisation import GeneralisationStage
from dislab.study.stages.score import ScoreStage
from dislab.study.stages.train import TrainStage
from dislab.study.stages.transfer import TransferStage

__all__ = [
    "FIRST",
    "CodesStage",
    "GeneralisationStage",
    "ScoreStage",
    "Stage",
    "TrainStage",
    "TransferStage",
    "checked_stages",
    "load_stage",
    "of_section",
    "option",
]
