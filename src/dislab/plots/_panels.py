"""Sizes, colours and panels that figures share."""

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Any, Final

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dislab.errors import InputError
from dislab.notebook_figure import NotebookFigure

DPI: Final = 100
LABEL_SIZE: Final = 8.0
TITLE_SIZE: Final = 10.0
COLUMN: Final = 3.25
"""Least width of a figure in inches: that of one of two columns of a page."""
_TICKS: Final = 26
"""Approximate maximum number of tick labels on the axis of latents."""
CELL: Final = 0.33
"""Side of a cell in inches, unless there are too many cells."""
WIDEST: Final = 16.0
"""Maximum total width of the cells in inches."""
INK: Final = "#26456e"
FAINT: Final = "#d9d9d9"
_LETTERS: Final = 20
"""Letters of a line of the label of a row of images."""


def panel(width: float, height: float) -> tuple[Figure, Axes]:
    """A white figure of given size in inches, with one panel."""
    figure = NotebookFigure(
        figsize=(width, height), dpi=DPI, facecolor="white", layout="constrained"
    )
    axes = figure.subplots()
    # an offset of all ticks, such as −1.784e2, would cover the label of the axis
    axes.ticklabel_format(useOffset=False)
    return figure, axes


def panel_size(latents: int, factors: int, names: Sequence[str]) -> tuple[float, float]:
    """Width and height in inches for visible cells and readable names."""
    longest = max((len(name) for name in names), default=0)
    across = min(max(CELL * latents, 2.5), WIDEST)
    cell = min(CELL, max(across / max(latents, 1), CELL / 2))
    return across + 0.07 * longest + 1.0, cell * factors + 1.0


def number_latents(axes: Axes, latents: int) -> None:
    """Numbers the latents below, and removes the frame."""
    axes.set_xlim(-0.5, latents - 0.5)
    axes.set_xticks(range(0, latents, -(-latents // _TICKS)))
    axes.tick_params(length=0, labelsize=LABEL_SIZE)
    axes.set_xlabel("latent", fontsize=LABEL_SIZE)
    for spine in axes.spines.values():
        spine.set_visible(False)


def plain_numbers(values: Iterable[Any], name: str) -> Float[np.ndarray, " _"]:
    """The values as a vector of numbers; rejects other values, with `name` in the message."""
    try:
        return np.array([float(value) for value in values], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: the values to draw must be numbers ({error})") from error


def two_lines(label: str) -> str:
    r"""The label of a row of images in at most two lines; one that is longer ends in an ellipsis.

    >>> two_lines("z0 partly object_hue, scale, floor_hue")
    'z0 partly\nobject_hue, scale…'
    """
    return "\n".join(wrap(label, _LETTERS, max_lines=2, placeholder="…")).replace(",…", "…")
