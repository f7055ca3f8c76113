"""Data sets: images with known factors."""

from dislab.datasets.dsprites import DSprites
from dislab.datasets.shapes3d import Shapes3D

__all__ = ["DSprites", "Shapes3D"]
