"""Heat maps: a matrix as colours, with its numbers."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dislab.plots._panels import LABEL_SIZE, blank, check_matrix, label

CELLS_WITH_NUMBERS: Final = 16
"""Maximum number of latents for numbers to fit into their cells."""


def heat_map(
    matrix: Float[np.ndarray, "latent factor"], names: Sequence[str], unit: str, title: str = ""
) -> Figure:
    """A figure with one coloured cell for each latent and factor.

    Args:
        matrix: Non-negative numbers, such as mutual information.
        names: Names of the factors.
        unit: Unit of the numbers, such as nats.
        title: Title above the figure; empty for none.

    Raises:
        InputError: The matrix is empty, or the number of names is not that of factors.
    """
    check_matrix(matrix, names)
    figure, axes = blank(len(matrix), len(names), names)
    plot_heat_map(axes, matrix, names, unit, title)
    return figure


def plot_heat_map(
    axes: Axes,
    matrix: Float[np.ndarray, "latent factor"],
    names: Sequence[str],
    unit: str,
    title: str = "",
) -> None:
    """Draws cells coloured from 0 to the largest number, with a colour bar in `unit`; grey for NaN.

    Raises:
        InputError: The matrix is empty, or the number of names is not that of factors.
    """
    check_matrix(matrix, names)
    finite = matrix[np.isfinite(matrix)]
    largest = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    axes.set_facecolor("#bdbdbd")
    image = axes.imshow(
        np.ma.masked_invalid(matrix.T), cmap="Blues", vmin=0.0, vmax=largest, aspect="auto"
    )
    label(axes, len(matrix), names, title)
    if len(matrix) <= CELLS_WITH_NUMBERS:
        for (latent, factor), value in np.ndenumerate(matrix):
            if np.isfinite(value):
                colour = "white" if value > 0.6 * largest else "black"
                text = f"{value:.2f}".removeprefix("0") if value < 1 else f"{value:.1f}"
                axes.text(latent, factor, text, ha="center", va="center", color=colour, size=6.5)
    scale = axes.figure.colorbar(image, ax=axes, pad=0.015, fraction=0.05)
    scale.ax.tick_params(labelsize=LABEL_SIZE)
    scale.set_label(unit, fontsize=LABEL_SIZE)
    scale.outline.set_visible(False)
