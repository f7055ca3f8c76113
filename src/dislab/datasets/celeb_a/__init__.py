"""CelebA: photographs of faces with 40 attributes."""

from dislab.datasets.celeb_a.celeb_a import CelebA

__all__ = ["CelebA"]
