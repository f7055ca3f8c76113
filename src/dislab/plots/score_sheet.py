"""One page with all scores of a model."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from dislab.errors import InputError
from dislab.notebook_figure import NotebookFigure
from dislab.plots._arguments import takes_tables
from dislab.plots._panels import (
    COLUMN,
    DPI,
    FAINT,
    INK,
    LABEL_SIZE,
    TITLE_SIZE,
    number_latents,
    panel,
    panel_size,
)
from dislab.plots.matrices import plot_heat_map, plot_hinton

LEFT: Final = 6.4
"""Width of the list of scores in inches."""
_KL_HEIGHT: Final = 1.9
"""Height of the KL bar chart in inches."""
_ROW: Final = 0.21
"""Height of one score in inches."""
CHANCE: Final = "#c0392b"
"""Colour of the chance level."""
ACTIVE: Final = 0.01
"""Minimum KL, in nats, of a latent that is drawn as active."""


@takes_tables
def score_sheet(
    values: Mapping[str, float],
    intervals: Mapping[str, tuple[float, float]],
    names: Sequence[str],
    importance: Float[np.ndarray, "latent factor"] | None = None,
    information: Float[np.ndarray, "latent factor"] | None = None,
    kl: Float[np.ndarray, " latent"] | None = None,
    title: str = "",
    chance: Mapping[str, float] = MappingProxyType({}),
    about: str = "mutual information",
    width: float = LEFT,
    informativeness: Float[np.ndarray, " factor"] | None = None,
) -> Figure:
    """A figure with the scores at the left, and panels of latents and factors at the right.

    Args:
        values: Scores by name.
        intervals: Interval bounds of some of the scores.
        names: Names of the factors.
        importance: Importance of each latent for predicting each factor.
        information: Mutual information of latents and factors, in nats.
        kl: KL of each latent's posterior from the prior, in nats.
        title: Title above the figure; empty for none.
        chance: Chance levels of some scores, drawn as a bar across the line.
        about: Title of the mutual information.
        width: Width of the list of scores in inches.
        informativeness: How well each factor is predicted, from 0 to 1, by which rows of importance
            are fainter.

    Raises:
        InputError: No score is given, or a matrix does not match the names.
    """
    if not values:
        raise InputError("a score sheet needs at least one score")
    latents = max(
        (len(matrix) for matrix in (importance, information, kl) if matrix is not None), default=0
    )
    across, down = panel_size(latents, len(names), names)
    matrices = [matrix for matrix in (importance, information) if matrix is not None]
    heights = [down] * len(matrices) + ([_KL_HEIGHT] if kl is not None else [])
    listed = _ROW * len(values) + 0.7
    total = width + (max(across, 5.0) if heights else 0.0)
    height = max(listed, sum(heights))
    figure = NotebookFigure((total, height + 0.5), dpi=DPI, facecolor="white", layout="constrained")
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=TITLE_SIZE + 1, parse_math=False)
    pages = figure.subfigures(
        1, 2 if heights else 1, width_ratios=_ratios(width, total), squeeze=False
    )
    plot_scores(_stacked(pages[0, 0], [listed], height)[0], values, intervals, chance)
    panels = _stacked(pages[0, -1], heights, height) if heights else []
    if importance is not None:
        about_importance = "importance for predicting a factor"
        plot_hinton(panels.pop(0), importance, names, about_importance, informativeness)
    if information is not None:
        plot_heat_map(panels.pop(0), information, names, "nats", about, kl)
    if kl is not None:
        plot_kl(panels.pop(0), kl)
    return figure


def _ratios(panel: float, width: float) -> list[float]:
    return [panel, width - panel] if width > panel else [panel]


def _stacked(page: SubFigure, heights: Sequence[float], height: float) -> list[Axes]:
    """Panels from the top of a page; the height below them stays empty."""
    blank = height - sum(heights)
    ratios = [*heights, blank] if blank > 0.05 else list(heights)
    axes = list(page.subplots(len(ratios), 1, height_ratios=ratios, squeeze=False)[:, 0])
    for idle in axes[len(heights) :]:
        idle.set_axis_off()
    return axes[: len(heights)]


def plot_scores(
    axes: Axes,
    values: Mapping[str, float],
    intervals: Mapping[str, tuple[float, float]],
    chance: Mapping[str, float] = MappingProxyType({}),
) -> None:
    """Plots one line per score: its number, and a point between 0 and 1 with its interval.

    For a score outside [0, 1], only the number is shown.
    """
    for row, (name, value) in enumerate(values.items()):
        ends = intervals.get(name)
        if ends is not None and all(0 <= end <= 1 for end in ends):
            axes.plot(ends, (row, row), color=INK, linewidth=2.5, alpha=0.4, solid_capstyle="butt")
        if 0 <= chance.get(name, -1) <= 1:
            axes.plot([chance[name]], [row], "|", color=CHANCE, markersize=10, markeredgewidth=2)
        if 0 <= value <= 1:
            axes.plot([value], [row], "o", color=INK, markersize=4.5)
        axes.text(1.04, row, _text(value, ends), va="center", fontsize=LABEL_SIZE)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(len(values) - 0.4, -0.6)
    axes.set_yticks(range(len(values)), list(values), parse_math=False)
    axes.tick_params(length=0, labelsize=LABEL_SIZE)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.grid(color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    title = "scores, and chance as red bars" if chance else "scores"
    axes.set_title(title, fontsize=TITLE_SIZE, loc="left")
    for spine in axes.spines.values():
        spine.set_visible(False)


def _text(value: float, ends: tuple[float, float] | None) -> str:
    if float(value).is_integer() and abs(value) > 1:
        return str(int(value))
    return f"{value:.3f}" + ("" if ends is None else f"  [{ends[0]:.3f}, {ends[1]:.3f}]")


@takes_tables
def kl_bars(kl: Float[np.ndarray, " latent"]) -> Figure:
    """A figure with one bar per latent.

    Args:
        kl: KL of each latent's posterior from the prior, in nats.
    """
    figure, axes = panel(COLUMN, _KL_HEIGHT)
    plot_kl(axes, kl)
    return figure


def plot_kl(axes: Axes, kl: Float[np.ndarray, " latent"]) -> None:
    """Plots one bar per latent; those of latents that are not active are grey."""
    colours = [INK if value > ACTIVE else FAINT for value in kl]
    axes.bar(range(len(kl)), np.maximum(kl, 0), color=colours, width=0.8)
    number_latents(axes, len(kl))
    axes.set_title("KL from the prior, nats", fontsize=TITLE_SIZE, loc="left")
    axes.set_axisbelow(True)
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
