"""Matrices as figures: colours with numbers, squares, and correlations."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection, QuadMesh
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dislab.codes.latent_order import NAMED
from dislab.errors import InputError
from dislab.factors import check_factor_names
from dislab.plots._arguments import takes_tables
from dislab.plots._panels import (
    FAINT,
    INK,
    LABEL_SIZE,
    TITLE_SIZE,
    number_latents,
    panel,
    panel_size,
)

CELLS_WITH_NUMBERS: Final = 16
"""Maximum number of latents for numbers to fit into their cells."""
_SIDE: Final = 0.26
"""Side of a cell with a number in inches."""
_SMALL: Final = 0.12
"""Side of a cell without a number in inches, where a picture of more would be wider than a page."""
_MOST_NUMBERS: Final = 17
"""Maximum number of rows or columns of correlations that are written into their cells."""
_LETTER: Final = 0.075
"""Width of a letter of a name in inches."""
_UNKNOWN: Final = "#bdbdbd"
"""Grey of cells without a number; the ground of a figure may be transparent."""


@takes_tables
def heat_map(
    matrix: Float[np.ndarray, "latent factor"],
    names: Sequence[str],
    unit: str,
    title: str = "",
    kl: Float[np.ndarray, " latent"] | None = None,
) -> Figure:
    """A figure with one coloured cell for each latent and factor.

    Args:
        matrix: Non-negative numbers, such as mutual information.
        names: Names of the factors.
        unit: Unit of the numbers, such as nats.
        title: Title above the figure; empty for none.
        kl: KL of each latent's posterior from the prior, in nats; columns of latents of at most
            0.1, which are not in use, are grey.

    Raises:
        InputError: The matrix is empty, or the number of names is not that of factors.
    """
    _check_matrix(matrix, names)
    figure, axes = _blank(len(matrix), len(names), names)
    plot_heat_map(axes, matrix, names, unit, title, kl)
    return figure


def plot_heat_map(
    axes: Axes,
    matrix: Float[np.ndarray, "latent factor"],
    names: Sequence[str],
    unit: str,
    title: str = "",
    kl: Float[np.ndarray, " latent"] | None = None,
) -> None:
    """Plots cells coloured from 0 to the largest number, with a colour bar in `unit`; grey for NaN.

    Columns of latents with a KL of at most 0.1 nats are grey too, if `kl` is given.

    Raises:
        InputError: The matrix is empty, or the number of names is not that of factors.
    """
    _check_matrix(matrix, names)
    idle = np.zeros(len(matrix), bool) if kl is None else kl <= NAMED
    coloured = np.where(idle[:, None], np.nan, matrix)
    finite = coloured[np.isfinite(coloured)]
    largest = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    image = axes.imshow(
        np.ma.masked_invalid(coloured.T),
        cmap=colormaps["Blues"].with_extremes(bad=_UNKNOWN),
        vmin=0.0,
        vmax=largest,
        aspect="auto",
    )
    _label(axes, len(matrix), names, title)
    if idle.any():
        axes.set_xlabel(f"latent (grey: KL of at most {NAMED} nats)", fontsize=LABEL_SIZE)
    if len(matrix) <= CELLS_WITH_NUMBERS:
        for (latent, factor), value in np.ndenumerate(matrix):
            if np.isfinite(value):
                colour = "white" if coloured[latent, factor] > 0.6 * largest else "black"
                text = f"{value:.2f}".removeprefix("0") if value < 1 else f"{value:.1f}"
                axes.text(latent, factor, text, ha="center", va="center", color=colour, size=7)
    scale = axes.figure.colorbar(image, ax=axes, pad=0.015, fraction=0.05)
    scale.ax.tick_params(labelsize=LABEL_SIZE)
    scale.ax.set_title(unit, fontsize=LABEL_SIZE, loc="left", parse_math=False)
    scale.outline.set_visible(False)


@takes_tables
def hinton(
    importance: Float[np.ndarray, "latent factor"],
    names: Sequence[str],
    title: str = "",
    informativeness: Float[np.ndarray, " factor"] | None = None,
) -> Figure:
    """A figure with one square for each latent and factor.

    Args:
        importance: Importance of each latent for each factor.
        names: Names of the factors.
        title: Title above the figure; empty for none.
        informativeness: How well each factor is predicted, from 0 to 1; rows of less are fainter,
            and those of 0 empty.

    Raises:
        InputError: The matrix is empty, or the number of names is not that of factors.
    """
    _check_matrix(importance, names)
    figure, axes = _blank(len(importance), len(names), names)
    plot_hinton(axes, importance, names, title, informativeness)
    return figure


def plot_hinton(
    axes: Axes,
    importance: Float[np.ndarray, "latent factor"],
    names: Sequence[str],
    title: str = "",
    informativeness: Float[np.ndarray, " factor"] | None = None,
) -> None:
    """Plots squares with areas proportional to the magnitude of the numbers.

    Negative numbers are hollow; NaN is a cross. Rows of factors that are predicted less
    are fainter, and those of factors that are not predicted at all are empty.

    Raises:
        InputError: The matrix is empty, or the number of names is not that of factors.
    """
    _check_matrix(importance, names)
    finite = np.isfinite(importance)
    sizes = np.where(finite, np.abs(np.where(finite, importance, 0)), 0)
    sides = 0.92 * np.sqrt(sizes / (sizes.max() or 1.0))
    shares = np.ones(len(names)) if informativeness is None else np.nan_to_num(informativeness)
    alphas = np.clip(shares, 0, 1)
    squares, fills, edges = [], [], []
    for (latent, factor), side in np.ndenumerate(sides):
        squares.append(Rectangle((latent - side / 2, factor - side / 2), side, side))
        edges.append(to_rgba(INK, float(alphas[factor])))
        fills.append(to_rgba("white") if importance[latent, factor] < 0 else edges[-1])
    axes.add_collection(
        PatchCollection(squares, facecolors=fills, edgecolors=edges, linewidths=0.5)
    )
    axes.plot(*np.nonzero(~finite), "x", color="#b2182b", markersize=5)
    _label(axes, len(importance), names, title)
    axes.set_aspect("equal")
    axes.set_xticks(np.arange(len(importance) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(names) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color=FAINT, linewidth=0.5)
    axes.tick_params(which="minor", length=0)
    axes.set_axisbelow(True)


@takes_tables
def correlation_matrix(
    correlations: Float[np.ndarray, "row column"],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str = "",
) -> Figure:
    """A figure with one cell per pair of scores: blue for positive, red for negative, grey for NaN.

    Up to 17 rows and columns have their numbers in the cells, others a scale of the colours.

    Args:
        correlations: Numbers in [−1, 1], or NaN, as in the result of `correlation_table(…)` of
            `dislab.study.statistics`, whose index gives the rows and whose columns the columns.
        rows: Names of the rows, from the top.
        columns: Names of the columns.
        title: Title above the figure; empty for none.

    Raises:
        InputError: There is nothing to draw, the numbers of names and of rows or columns differ, or
            a number lies outside [−1, 1].
    """
    _check_correlations(correlations, rows, columns)
    longest = [max(len(name) for name in names) for names in (rows, columns)]
    is_numbered = max(len(rows), len(columns)) <= _MOST_NUMBERS
    side = _SIDE if is_numbered else _SMALL
    figure, axes = panel(
        max(side * len(columns), 1.3 * _LETTER * len(title))
        + _LETTER * longest[0]
        + (0.15 if is_numbered else 0.8),
        side * len(rows) + _LETTER * longest[1] + (0.5 if title else 0.2),
    )
    axes.set_anchor("N")
    # an image would not be a vector graphic in PDF and SVG files
    cells = axes.pcolormesh(
        np.arange(len(columns) + 1) - 0.5,
        np.arange(len(rows) + 1) - 0.5,
        np.ma.masked_invalid(correlations),
        cmap=colormaps["RdBu"].with_extremes(bad=_UNKNOWN),
        vmin=-1,
        vmax=1,
        edgecolors="white",
        linewidths=0.4,
    )
    axes.set(aspect="equal", ylim=(len(rows) - 0.5, -0.5))
    if is_numbered:
        _write_numbers(axes, correlations)
    axes.set_xticks(range(len(columns)), list(columns), rotation=90, parse_math=False)
    axes.set_yticks(range(len(rows)), list(rows), parse_math=False)
    axes.tick_params(length=0, labelsize=LABEL_SIZE)
    axes.spines[:].set_visible(False)
    axes.set_title(title, fontsize=TITLE_SIZE, loc="left", parse_math=False)
    if not is_numbered:
        _add_scale(figure, axes, cells)
    return figure


def _add_scale(figure: Figure, axes: Axes, cells: QuadMesh) -> None:
    ticks = [-1, -0.5, 0, 0.5, 1]
    scale = figure.colorbar(cells, ax=axes, shrink=0.9, pad=0.02, ticks=ticks)
    scale.ax.tick_params(labelsize=LABEL_SIZE)
    scale.outline.set_visible(False)


def _check_correlations(
    correlations: np.ndarray, rows: Sequence[str], columns: Sequence[str]
) -> None:
    if not correlations.size or correlations.shape != (len(rows), len(columns)):
        raise InputError(
            f"{len(rows)} names of rows and {len(columns)} of columns for correlations of shape "
            f"{correlations.shape}; give one a row and one a column"
        )
    if (np.abs(correlations[np.isfinite(correlations)]) > 1 + 1e-9).any():
        raise InputError("correlations lie in [-1, 1]; give no other numbers")


def _write_numbers(axes: Axes, correlations: np.ndarray) -> None:
    for (row, column), value in np.ndenumerate(correlations):
        text = _text(value) if np.isfinite(value) else "–"
        colour = "white" if np.isfinite(value) and abs(value) > 0.6 else "black"
        axes.text(column, row, text, ha="center", va="center", color=colour, size=7)


def _text(value: float) -> str:
    """Two decimals without the leading 0; zero has no sign."""
    rounded = round(value, 2) + 0.0
    return f"{rounded:.2f}".replace("0.", ".", 1).replace("-", "−")


def _blank(latents: int, factors: int, names: Sequence[str]) -> tuple[Figure, Axes]:
    """A figure with one panel for a matrix."""
    return panel(*panel_size(latents, factors, names))


def _check_matrix(matrix: Float[np.ndarray, "latent factor"], names: Sequence[str]) -> None:
    """Rejects an empty matrix, and names that do not match its columns."""
    if matrix.ndim != 2 or not matrix.size:
        raise InputError(
            f"an array of shape {matrix.shape} is no matrix with values: nothing to draw"
        )
    check_factor_names(names, matrix.shape[1], distinct=False)


def _label(axes: Axes, latents: int, names: Sequence[str], title: str) -> None:
    """Numbers the latents below and names the factors at the left, the first one on top."""
    number_latents(axes, latents)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), list(names), parse_math=False)
    axes.set_title(title, fontsize=TITLE_SIZE, loc="left", parse_math=False)
