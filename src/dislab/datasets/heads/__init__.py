"""Rendered heads."""

from dislab.datasets.heads.parametric_heads import ParametricHeads

__all__ = ["ParametricHeads"]
