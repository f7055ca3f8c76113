"""Users' own images: in arrays, in a folder, in files, in data sets of other libraries."""

from dislab.datasets.own.array_dataset import ArrayDataset
from dislab.datasets.own.folder_dataset import FolderDataset
from dislab.datasets.own.hugging_face_dataset import HuggingFaceDataset
from dislab.datasets.own.numpy_dataset import NumpyDataset
from dislab.datasets.own.torch_dataset import TorchDataset

__all__ = [
    "ArrayDataset",
    "FolderDataset",
    "HuggingFaceDataset",
    "NumpyDataset",
    "TorchDataset",
]
