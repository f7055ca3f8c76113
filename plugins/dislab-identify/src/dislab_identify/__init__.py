"""Vectors, drawn worlds and identifiable representations for dislab."""

from dislab_identify.contrastive import TCL, ContrastiveInversion, LeJEPA
from dislab_identify.drawn_world import DrawnWorld
from dislab_identify.ivae import IVAE
from dislab_identify.representation import Representation
from dislab_identify.slow_vae import SlowVAE
from dislab_identify.step_data import StepBatch, StepData
from dislab_identify.vector_dataset import VectorDataset

__all__ = [
    "IVAE",
    "TCL",
    "ContrastiveInversion",
    "DrawnWorld",
    "LeJEPA",
    "Representation",
    "SlowVAE",
    "StepBatch",
    "StepData",
    "VectorDataset",
]
