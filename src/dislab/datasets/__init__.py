"""Data sets: images with known factors."""

from dislab.datasets.dsprites import DSprites

__all__ = [
    "DSprites",
]
