"""Data sets: images with known factors."""

from dislab.datasets.cars3d import Cars3D
from dislab.datasets.celeb_a import CelebA
from dislab.datasets.chairs3d import Chairs3D
from dislab.datasets.dsprites import DSprites
from dislab.datasets.mnist import MNIST
from dislab.datasets.mpi3d import MPI3D
from dislab.datasets.robot_finger import RobotFinger
from dislab.datasets.robot_finger_files import RobotFingerFiles
from dislab.datasets.robot_finger_pseudo_real import RobotFingerPseudoReal
from dislab.datasets.shapes3d import Shapes3D
from dislab.datasets.small_norb import SmallNORB

__all__ = [
    "Cars3D",
    "CelebA",
    "Chairs3D",
    "DSprites",
    "MNIST",
    "MPI3D",
    "RobotFinger",
    "RobotFingerFiles",
    "RobotFingerPseudoReal",
    "Shapes3D",
    "SmallNORB",
]
