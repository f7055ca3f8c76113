"""Results of other programs as tables of runs."""

from dislab_import.disentanglement_lib import read_disentanglement_lib

__all__ = ["read_disentanglement_lib"]
