"""A small ray-caster for scenes of a few parts, in PyTorch, for many states at once.

Lengths have no unit of their own; a picture is the same on every run, whatever is drawn with it.
"""

from dislab.datasets.raycast.camera import Camera
from dislab.datasets.raycast.casting import (
    NOTHING,
    Bundle,
    Cast,
    Part,
    bundle,
    cast,
    move,
    normals,
    shaded,
    take,
)
from dislab.datasets.raycast.frame import Frame, Ray
from dislab.datasets.raycast.shapes import Bowl, Box, Capsule, Cylinder, Ring, Shape, Sphere
from dislab.datasets.raycast.vector import FAR, Scalar, Vector

__all__ = [
    "FAR",
    "NOTHING",
    "Bowl",
    "Box",
    "Bundle",
    "Camera",
    "Capsule",
    "Cast",
    "Cylinder",
    "Frame",
    "Part",
    "Ray",
    "Ring",
    "Scalar",
    "Shape",
    "Sphere",
    "Vector",
    "bundle",
    "cast",
    "move",
    "normals",
    "shaded",
    "take",
]
