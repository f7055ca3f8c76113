"""Hinton diagrams: a matrix as squares."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dislab.plots._panels import FAINT, INK, blank, check_matrix, label


def hinton(
    importance: Float[np.ndarray, "latent factor"], names: Sequence[str], title: str = ""
) -> Figure:
    """A figure with one square for each latent and factor.

    Args:
        importance: Importance of each latent for each factor.
        names: Names of the factors.
        title: Title above the figure; empty for none.

    Raises:
        InputError: The matrix is empty, or the number of names is not that of factors.
    """
    check_matrix(importance, names)
    figure, axes = blank(len(importance), len(names), names)
    plot_hinton(axes, importance, names, title)
    return figure


def plot_hinton(
    axes: Axes,
    importance: Float[np.ndarray, "latent factor"],
    names: Sequence[str],
    title: str = "",
) -> None:
    """Draws squares with areas proportional to the magnitude of the numbers.

    Negative numbers are hollow; NaN is a cross.

    Raises:
        InputError: The matrix is empty, or the number of names is not that of factors.
    """
    check_matrix(importance, names)
    finite = np.isfinite(importance)
    sizes = np.where(finite, np.abs(np.where(finite, importance, 0)), 0)
    sides = 0.92 * np.sqrt(sizes / (sizes.max() or 1.0))
    squares, fills = [], []
    for (latent, factor), side in np.ndenumerate(sides):
        squares.append(Rectangle((latent - side / 2, factor - side / 2), side, side))
        fills.append("white" if importance[latent, factor] < 0 else INK)
    axes.add_collection(PatchCollection(squares, facecolors=fills, edgecolors=INK, linewidths=0.5))
    axes.plot(*np.nonzero(~finite), "x", color="#b2182b", markersize=5)
    label(axes, len(importance), names, title)
    axes.set_aspect("equal")
    axes.set_xticks(np.arange(len(importance) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(names) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color=FAINT, linewidth=0.5)
    axes.tick_params(which="minor", length=0)
    axes.set_axisbelow(True)
