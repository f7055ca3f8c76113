"""dislab: disentangled representation learning with PyTorch Lightning."""

from importlib.metadata import version

from dislab.moved import accept_old_names

__version__ = version("dislab")

accept_old_names()
