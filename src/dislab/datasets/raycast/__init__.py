"""A small ray caster in PyTorch for scenes of a few parts, for many states at once.

Lengths have no fixed unit. Images are reproducible, and independent of others cast with them.
"""

from dislab.datasets.raycast.casting import (
    NOTHING,
    Bundle,
    Camera,
    Cast,
    Part,
    bundle,
    cast,
    move,
    normals,
    shaded,
    take,
)
from dislab.datasets.raycast.geometry import FAR, Frame, Ray, Scalar, Vector
from dislab.datasets.raycast.shapes import Bowl, Box, Capsule, Cylinder, Ring, Shape, Sphere

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
