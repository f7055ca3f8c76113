"""Chairs: the published 3D Chairs and rendered ones."""

from dislab.datasets.chairs.chairs3d import Chairs3D
from dislab.datasets.chairs.parametric_chairs import ParametricChairs

__all__ = ["Chairs3D", "ParametricChairs"]
