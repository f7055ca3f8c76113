"""A small ray caster in PyTorch for scenes of a few parts, for many states at once.

Lengths have no fixed unit. Images are reproducible, and independent of others drawn with them.
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
