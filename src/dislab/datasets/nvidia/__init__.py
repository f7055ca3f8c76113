"""Rendered rooms of NVIDIA: a kitchen and a living room."""

from dislab.datasets.nvidia.falcor3d import Falcor3D
from dislab.datasets.nvidia.isaac3d import Isaac3D

__all__ = ["Falcor3D", "Isaac3D"]
