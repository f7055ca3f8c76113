"""Figures of policies: selectivity by factor, and moves as arrows on the grid."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dislab_control.control_scores import ControlTable, matched

_CELL: Final = 0.55
"""Width of a matrix cell in inches."""


def control_figure(table: ControlTable, names: Sequence[str], title: str = "") -> Figure:
    """Plots three matrices by factor: moves and selectivity of policies, selectivity of latents.

    Frames mark the rows that are matched to the factors.

    Args:
        table: Selectivities by factor.
        names: Names of the factors.
        title: Title above the figure; empty for none.
    """
    parts = (
        ("moves of policies", "policy", table.moves),
        ("selectivity of policies", "policy", table.policies),
        ("selectivity of latents", "latent", table.features),
    )
    tall = max(len(rows) for _, _, rows in parts)
    figure = Figure(
        figsize=(3 * (1.2 + _CELL * len(names)), 1.1 + _CELL * tall), layout="constrained"
    )
    axes: Sequence[Axes] = figure.subplots(1, len(parts), squeeze=False)[0]
    for ax, (head, row, values) in zip(axes, parts, strict=True):
        matches = matched(values).row
        _matrix(ax, values.cpu().numpy(), names, row, matches)
        ax.set_title(head, fontsize=9)
    if title:
        figure.suptitle(title, fontsize=10)
    return figure


def _matrix(
    axes: Axes,
    values: Float[np.ndarray, "row factor"],
    names: Sequence[str],
    row: str,
    matches: list[int],
) -> None:
    """Plots cells from white for 0 to blue for 1, labelled with their values."""
    axes.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="equal")
    for (line, factor), value in np.ndenumerate(values):
        colour = "white" if value > 0.6 else "black"
        axes.text(factor, line, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=7)
    for factor, line in enumerate(matches):
        if line >= 0:
            corner = np.array([-0.5, -0.5, 0.5, 0.5, -0.5])
            across = np.array([-0.5, 0.5, 0.5, -0.5, -0.5])
            axes.plot(factor + across, line + corner, color="#d95f02", linewidth=1.5)
    axes.set_xticks(range(len(names)), list(names), fontsize=8)
    axes.set_yticks(
        range(len(values)), [f"{row} {line}" for line in range(len(values))], fontsize=8
    )


def arrow_figure(steps: Float[np.ndarray, "policy square row column 2"], title: str = "") -> Figure:
    """Plots the mean move of each square under each policy, at every position, as arrows.

    Args:
        steps: Mean change of x and y in cells; NaN at positions that the square cannot take.
        title: Title above the figure; empty for none.
    """
    policies, squares, rows, columns, _ = steps.shape
    figure = Figure(figsize=(1.9 * policies, 1.9 * squares + 0.4), layout="constrained")
    axes = figure.subplots(squares, policies, squeeze=False)
    x, y = np.meshgrid(np.arange(columns), np.arange(rows))
    for policy in range(policies):
        for square in range(squares):
            ax = axes[square, policy]
            here = steps[policy, square]
            ax.quiver(
                x,
                y,
                here[..., 0],
                here[..., 1],
                angles="xy",
                scale_units="xy",
                scale=1.2,
                width=0.012,
            )
            ax.set_xlim(-1, columns)
            ax.set_ylim(rows, -1)  # rows count downwards, as in images
            ax.set_aspect("equal")
            ax.set_xticks([])
            ax.set_yticks([])
            if square == 0:
                ax.set_title(f"policy {policy}", fontsize=8)
            if policy == 0:
                ax.set_ylabel(f"square {square}", fontsize=8)
    if title:
        figure.suptitle(title, fontsize=10)
    return figure
