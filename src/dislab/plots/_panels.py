"""Panels with latents as columns and factors as rows, shared by the pictures of matrices."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dislab.errors import InputError

DPI: Final = 100
LABEL_SIZE: Final = 8.0
TITLE_SIZE: Final = 10.0
TICKS: Final = 26
"""Approximate maximum number of tick labels on the axis of latents."""
CELL: Final = 0.33
"""Side of a cell in inches, unless there are too many cells."""
WIDEST: Final = 16.0
"""Maximum total width of the cells in inches."""
INK: Final = "#26456e"
FAINT: Final = "#d9d9d9"


def panel_size(latents: int, factors: int, names: Sequence[str]) -> tuple[float, float]:
    """Width and height in inches for visible cells and readable names."""
    longest = max((len(name) for name in names), default=0)
    across = min(max(CELL * latents, 2.5), WIDEST)
    cell = min(CELL, max(across / max(latents, 1), CELL / 2))
    return across + 0.07 * longest + 1.0, cell * factors + 1.0


def blank(latents: int, factors: int, names: Sequence[str]) -> tuple[Figure, Axes]:
    """A figure of that size with one panel."""
    size = panel_size(latents, factors, names)
    figure = Figure(figsize=size, dpi=DPI, facecolor="white", layout="constrained")
    return figure, figure.subplots()


def check_matrix(matrix: Float[np.ndarray, "latent factor"], names: Sequence[str]) -> None:
    """Rejects an empty matrix, and names that do not match its columns."""
    if not matrix.size:
        raise InputError(f"a matrix of shape {matrix.shape} has nothing to draw")
    if len(names) != matrix.shape[1]:
        raise InputError(f"{len(names)} names for {matrix.shape[1]} factors: {', '.join(names)}")


def label(axes: Axes, latents: int, names: Sequence[str], title: str) -> None:
    """Numbers the latents below and names the factors at the left, the first one on top."""
    number_latents(axes, latents)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), list(names), parse_math=False)
    axes.set_title(title, fontsize=TITLE_SIZE, loc="left", parse_math=False)


def number_latents(axes: Axes, latents: int) -> None:
    """Numbers the latents below, and removes the frame."""
    axes.set_xlim(-0.5, latents - 0.5)
    axes.set_xticks(range(0, latents, -(-latents // TICKS)))
    axes.tick_params(length=0, labelsize=LABEL_SIZE)
    axes.set_xlabel("latent", fontsize=LABEL_SIZE)
    for spine in axes.spines.values():
        spine.set_visible(False)
