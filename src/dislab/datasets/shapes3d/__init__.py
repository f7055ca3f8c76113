"""3D Shapes, drawn or published."""

from dislab.datasets.shapes3d.shapes3d import Shapes3D

__all__ = ["Shapes3D"]
