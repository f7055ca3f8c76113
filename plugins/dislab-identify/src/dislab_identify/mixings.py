"""Invertible mixings of sources, with their exact inverses."""

from abc import ABC, abstractmethod
from typing import Final, Literal, final

import numpy as np
import numpy.typing as npt

from dislab.errors import InputError
from dislab.functional.random import host_generator

MixingName = Literal["identity", "mlp", "spiral", "flow"]
Array = npt.NDArray[np.float64]

WORST: Final = 1e6
"""Largest condition number of a matrix that counts as invertible."""


class Mixing(ABC):
    """A bijection between sources and observations of the same dimension."""

    @abstractmethod
    def mix(self, sources: Array) -> Array:
        """Observations of sources, shape (row, source)."""

    @abstractmethod
    def unmix(self, observations: Array) -> Array:
        """The sources behind observations: the exact inverse of `mix`."""


@final
class Identity(Mixing):
    """No mixing."""

    def mix(self, sources: Array) -> Array:
        """The sources themselves."""
        return sources

    def unmix(self, observations: Array) -> Array:
        """The observations themselves."""
        return observations


@final
class LeakyMLP(Mixing):
    """Leaky ReLU, then a matrix, in turn.

    Hyvärinen & Morioka (2016), https://arxiv.org/abs/1605.06336, and Khemakhem et al. (2020),
    https://arxiv.org/abs/2002.11537: the published number of layers L has L − 1 matrices.

    Args:
        matrices: The matrices, in order; the sources are multiplied from the left.
        slope: Slope of the leaky ReLU below 0.

    Raises:
        InputError: A matrix is singular, or the slope is not positive.
    """

    def __init__(self, matrices: list[Array], slope: float = 0.2) -> None:
        for layer, matrix in enumerate(matrices):
            if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
                raise InputError(f"matrix {layer} has the shape {matrix.shape}; give square ones")
            if not np.isfinite(matrix).all() or not np.linalg.cond(matrix) <= WORST:
                raise InputError(
                    f"matrix {layer} of the mixing is singular (condition number above "
                    f"{WORST:g}); give one with an inverse"
                )
        if not slope > 0:
            raise InputError(f"slope is {slope}; it must be above 0, or the mixing has no inverse")
        self._matrices = matrices
        self._slope = slope

    def mix(self, sources: Array) -> Array:
        """Applies each leaky ReLU and matrix."""
        for matrix in self._matrices:
            sources = np.where(sources > 0, sources, self._slope * sources) @ matrix
        return sources

    def unmix(self, observations: Array) -> Array:
        """Solves each matrix and divides what is negative by the slope, in reverse order."""
        for matrix in reversed(self._matrices):
            rows = np.linalg.solve(matrix.T, observations.T).T
            observations = np.where(rows > 0, rows, rows / self._slope)
        return observations


@final
class Spiral(Mixing):
    """Turns each pair of sources by an angle that grows with its radius.

    Args:
        turn: Angle in radians per unit of radius.
    """

    def __init__(self, turn: float = 1.0) -> None:
        self._turn = turn

    def mix(self, sources: Array) -> Array:
        """Turns the pairs."""
        return self._turned(sources, self._turn)

    def unmix(self, observations: Array) -> Array:
        """Turns the pairs back, by the radius, which a turn keeps."""
        return self._turned(observations, -self._turn)

    @staticmethod
    def _turned(rows: Array, turn: float) -> Array:
        first, second = rows[:, 0::2], rows[:, 1::2]
        angle = turn * np.hypot(first, second)
        turned = np.empty_like(rows)
        turned[:, 0::2] = first * np.cos(angle) - second * np.sin(angle)
        turned[:, 1::2] = first * np.sin(angle) + second * np.cos(angle)
        return turned


@final
class CouplingFlow(Mixing):
    """Additive couplings: one half is shifted by a random function of the other; all are turned.

    Dinh et al. (2015), https://arxiv.org/abs/1410.8516.

    Args:
        dimension: Number of sources, at least 2.
        layers: Number of couplings.
        generator: Draws the functions and rotations.
    """

    def __init__(self, dimension: int, layers: int, generator: np.random.Generator) -> None:
        cut = dimension // 2
        self._cut = cut
        self._layers = [
            (
                generator.normal(0.0, 1.0, (cut, 16)),
                generator.normal(0.0, 0.5, (16, dimension - cut)),
                orthogonal(dimension, generator),
            )
            for _ in range(layers)
        ]

    def mix(self, sources: Array) -> Array:
        """Applies the couplings."""
        for first, second, turn in self._layers:
            fixed, moved = sources[:, : self._cut], sources[:, self._cut :]
            shifted = moved + np.tanh(fixed @ first) @ second
            sources = np.concatenate([fixed, shifted], axis=1) @ turn
        return sources

    def unmix(self, observations: Array) -> Array:
        """Undoes the couplings in reverse order."""
        for first, second, turn in reversed(self._layers):
            rows = observations @ turn.T
            fixed, shifted = rows[:, : self._cut], rows[:, self._cut :]
            moved = shifted - np.tanh(fixed @ first) @ second
            observations = np.concatenate([fixed, moved], axis=1)
        return observations


def orthogonal(dimension: int, generator: np.random.Generator) -> Array:
    """A rotation or reflection, uniform over all of them, shape (dimension, dimension)."""
    turn, triangle = np.linalg.qr(generator.normal(size=(dimension, dimension)))
    return np.asarray(turn * np.sign(np.diagonal(triangle)))


def mixing_of(
    name: MixingName, dimension: int, layers: int, seed: int, turn: float = 1.0
) -> Mixing:
    """A random mixing.

    Args:
        name: `mlp` with orthogonal matrices, `spiral`, `flow`, or `identity`.
        dimension: Number of sources.
        layers: Layers of `mlp`, which has one matrix less, or couplings of `flow`.
        seed: Seed of the draw.
        turn: Angle of `spiral` in radians per unit of radius.

    Raises:
        InputError: The mixing does not fit the number of sources.
    """
    generator = host_generator(seed, 1)
    if name == "mlp":
        return LeakyMLP([orthogonal(dimension, generator) for _ in range(layers - 1)])
    if name == "spiral":
        if dimension % 2:
            raise InputError(f"sources is {dimension}; a spiral turns pairs: give an even number")
        return Spiral(turn)
    if name == "flow":
        if dimension < 2:
            raise InputError("sources is 1; a flow couples two halves: give at least 2")
        return CouplingFlow(dimension, layers, generator)
    return Identity()
