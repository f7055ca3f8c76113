"""Small trained models of dislab: weights in half precision, cards and scores."""

from dislab_zoo.models import load, names, path

__all__ = ["load", "names", "path"]
