"""dislab: disentangled representation learning with PyTorch Lightning."""

from importlib.metadata import version

__version__ = version("dislab")
