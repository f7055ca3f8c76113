"""The user's own images: in arrays or in a folder."""

from dislab.datasets.own.array_dataset import ArrayDataset
from dislab.datasets.own.folder_dataset import FolderDataset

__all__ = ["ArrayDataset", "FolderDataset"]
