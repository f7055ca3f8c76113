"""Data sets: images with known factors."""

from dislab.datasets.dsprites import DSprites
from dislab.datasets.parametric_chairs import ParametricChairs
from dislab.datasets.robot_finger import RobotFinger
from dislab.datasets.robot_finger_pseudo_real import RobotFingerPseudoReal
from dislab.datasets.shapes3d import Shapes3D

__all__ = ["DSprites", "ParametricChairs", "RobotFinger", "RobotFingerPseudoReal", "Shapes3D"]
