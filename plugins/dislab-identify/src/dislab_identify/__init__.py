"""Vectors, drawn worlds and identifiable representations for dislab."""

from dislab_identify.drawn_world import DrawnWorld
from dislab_identify.vector_dataset import VectorDataset

__all__ = ["DrawnWorld", "VectorDataset"]
