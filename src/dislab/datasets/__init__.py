"""Data sets: images with known factors."""

from dislab.datasets.cars3d import Cars3D
from dislab.datasets.celeb_a import CelebA
from dislab.datasets.chairs import Chairs3D, ParametricChairs
from dislab.datasets.dsprites import ColorDSprites, DSprites, NoisyDSprites, ScreamDSprites
from dislab.datasets.gaussian_blob import GaussianBlob
from dislab.datasets.heads import ParametricHeads
from dislab.datasets.mnist import MNIST
from dislab.datasets.mpi3d import MPI3D
from dislab.datasets.nvidia import Falcor3D, Isaac3D
from dislab.datasets.own import (
    ArrayDataset,
    FolderDataset,
    HuggingFaceDataset,
    NumpyDataset,
    TorchDataset,
)
from dislab.datasets.robot_finger import RobotFinger, RobotFingerFiles, RobotFingerPseudoReal
from dislab.datasets.shapes3d import Shapes3D
from dislab.datasets.small_norb import SmallNORB

__all__ = [
    "MNIST",
    "MPI3D",
    "ArrayDataset",
    "Cars3D",
    "CelebA",
    "Chairs3D",
    "ColorDSprites",
    "DSprites",
    "Falcor3D",
    "FolderDataset",
    "GaussianBlob",
    "HuggingFaceDataset",
    "Isaac3D",
    "NoisyDSprites",
    "NumpyDataset",
    "ParametricChairs",
    "ParametricHeads",
    "RobotFinger",
    "RobotFingerFiles",
    "RobotFingerPseudoReal",
    "ScreamDSprites",
    "Shapes3D",
    "SmallNORB",
    "TorchDataset",
]
