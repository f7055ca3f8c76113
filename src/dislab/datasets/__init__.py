"""Data sets: images with known factors."""

from dislab.datasets.array_dataset import ArrayDataset
from dislab.datasets.color_dsprites import ColorDSprites
from dislab.datasets.dsprites import DSprites
from dislab.datasets.folder_dataset import FolderDataset
from dislab.datasets.gaussian_blob import GaussianBlob
from dislab.datasets.noisy_dsprites import NoisyDSprites
from dislab.datasets.parametric_heads import ParametricHeads
from dislab.datasets.scream_dsprites import ScreamDSprites

__all__ = [
    "ArrayDataset",
    "ColorDSprites",
    "DSprites",
    "FolderDataset",
    "GaussianBlob",
    "NoisyDSprites",
    "ParametricHeads",
    "ScreamDSprites",
]
