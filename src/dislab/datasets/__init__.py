"""Data sets: images with known factors."""

from dislab.datasets.array_dataset import ArrayDataset
from dislab.datasets.cars3d import Cars3D
from dislab.datasets.celeb_a import CelebA
from dislab.datasets.chairs3d import Chairs3D
from dislab.datasets.color_dsprites import ColorDSprites
from dislab.datasets.dsprites import DSprites
from dislab.datasets.folder_dataset import FolderDataset
from dislab.datasets.gaussian_blob import GaussianBlob
from dislab.datasets.mnist import MNIST
from dislab.datasets.mpi3d import MPI3D
from dislab.datasets.noisy_dsprites import NoisyDSprites
from dislab.datasets.parametric_chairs import ParametricChairs
from dislab.datasets.parametric_heads import ParametricHeads
from dislab.datasets.robot_finger import RobotFinger
from dislab.datasets.robot_finger_files import RobotFingerFiles
from dislab.datasets.robot_finger_pseudo_real import RobotFingerPseudoReal
from dislab.datasets.scream_dsprites import ScreamDSprites
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
    "FolderDataset",
    "GaussianBlob",
    "NoisyDSprites",
    "ParametricChairs",
    "ParametricHeads",
    "RobotFinger",
    "RobotFingerFiles",
    "RobotFingerPseudoReal",
    "ScreamDSprites",
    "Shapes3D",
    "SmallNORB",
]
