"""3D Shapes, rendered or published."""

from dislab.datasets.shapes3d.shapes3d import Shapes3D

__all__ = ["Shapes3D"]
