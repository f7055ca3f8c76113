"""Figures from arrays: pure functions that touch no global plotting state."""

from dislab.plots.image_grid import image_grid
from dislab.plots.output import pixels, save

__all__ = [
    "image_grid",
    "pixels",
    "save",
]
