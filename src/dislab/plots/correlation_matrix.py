"""Correlations as a coloured matrix."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from dislab.errors import InputError
from dislab.plots._groups import panel
from dislab.plots._panels import LABEL_SIZE, TITLE_SIZE

SIDE: Final = 0.36
"""Side of a cell in inches."""
LETTER: Final = 0.075
"""Width of a letter of a name in inches."""
LEAST: Final = 4
"""Minimum number of rows that leaves room for the colour bar."""


def correlation_matrix(
    correlations: Float[np.ndarray, "row column"],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str = "",
) -> Figure:
    """A figure with one cell per pair of scores: blue for positive, red for negative, grey for NaN.

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
    if not correlations.size or correlations.shape != (len(rows), len(columns)):
        raise InputError(
            f"{len(rows)} names of rows and {len(columns)} of columns for correlations of shape "
            f"{correlations.shape}; give one a row and one a column"
        )
    finite = np.isfinite(correlations)
    if (np.abs(correlations[finite]) > 1 + 1e-9).any():
        raise InputError("correlations lie in [-1, 1]; give no other numbers")
    longest = [max(len(name) for name in names) for names in (rows, columns)]
    scaled = len(rows) >= LEAST
    figure, axes = panel(
        SIDE * len(columns) + LETTER * max(longest[0], len(title)) + (0.9 if scaled else 0.15),
        SIDE * len(rows) + LETTER * longest[1] + (0.5 if title else 0.2),
    )
    axes.set_anchor("N")
    axes.set_facecolor("#bdbdbd")
    image = axes.imshow(np.ma.masked_invalid(correlations), cmap="RdBu", vmin=-1, vmax=1)
    for (row, column), value in np.ndenumerate(correlations):
        text = _text(value) if finite[row, column] else "–"
        colour = "white" if finite[row, column] and abs(value) > 0.6 else "black"
        axes.text(column, row, text, ha="center", va="center", color=colour, size=7)
    axes.set_xticks(range(len(columns)), list(columns), rotation=90, parse_math=False)
    axes.set_yticks(range(len(rows)), list(rows), parse_math=False)
    axes.tick_params(length=0, labelsize=LABEL_SIZE)
    axes.spines[:].set_visible(False)
    axes.set_title(title, fontsize=TITLE_SIZE, loc="left", parse_math=False)
    if scaled:
        ticks = [-1, -0.5, 0, 0.5, 1]
        scale = figure.colorbar(image, ax=axes, shrink=0.9, pad=0.02, ticks=ticks)
        scale.ax.tick_params(labelsize=LABEL_SIZE)
        scale.outline.set_visible(False)
    return figure


def _text(value: float) -> str:
    """Two decimals without the leading 0; zero has no sign."""
    rounded = round(value, 2) + 0.0
    return f"{rounded:.2f}".replace("0.", ".", 1).replace("-", "−")
