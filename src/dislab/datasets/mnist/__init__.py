"""MNIST: handwritten digits."""

from dislab.datasets.mnist.mnist import MNIST

__all__ = ["MNIST"]
