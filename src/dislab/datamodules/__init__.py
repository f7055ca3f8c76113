"""Data modules: which states make up a batch."""

from dislab.datamodules.single_data import SingleData

__all__ = [
    "SingleData",
]
