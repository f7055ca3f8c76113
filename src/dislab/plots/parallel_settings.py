"""Parallel coordinates of the settings of many runs, coloured by a score."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Final

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from dislab.errors import InputError
from dislab.plots._arguments import takes_tables
from dislab.plots._panels import COLUMN, LABEL_SIZE, TITLE_SIZE, panel, plain_numbers

SCALE: Final = 0.8
"""Width of the scale of the score in inches."""
MANY: Final = 200
"""Number of runs above which lines are thin."""
_UNKNOWN: Final = "#9a9a9a"
"""Colour of runs without a score."""
_SPREAD: Final = 0.5
"""Fraction of the distance between two values over which lines through one value are spread."""


@takes_tables
def parallel_settings(
    settings: Mapping[str, Iterable[Any]],
    score: Iterable[Any],
    name: str,
    title: str = "",
) -> Figure:
    """Parallel coordinates with one axis per setting, one for a score, and one line per run.

    Values of a setting are equally spaced, numbers sorted by size and others in order of
    appearance; lines through one value are spread, ordered by the score. The last axis is the scale
    of the score; runs with a non-finite score are grey and do not reach it.

    Args:
        settings: Values by name of the setting, one per run. Convert columns of a table with
            `dict(table[["method", "model.beta"]].items())`.
        score: One number per run.
        name: Name of the score.
        title: Title above the figure; empty for none.

    Raises:
        InputError: There is no run or no setting, or the numbers of values and scores differ.
    """
    scores = plain_numbers(score, name)
    levels = _levels_of_all(settings, len(scores))
    finite = np.isfinite(scores)
    low, high = (scores[finite].min(), scores[finite].max()) if finite.any() else (0.0, 1.0)
    high = high if high > low else low + 1.0
    height = np.where(finite, (scores - low) / (high - low), 0.0)
    ends = np.stack([_spread(level, len(names), height) for names, level in levels.values()])
    tallest = max(len(names) for names, _ in levels.values())
    longest = max(len(text) for key, (names, _) in levels.items() for text in (key, *names))
    width = max(COLUMN, (0.075 * longest + 0.1) * (len(levels) + 0.45) + SCALE)
    figure, axes = panel(width, max(2.6, 0.26 * tallest + 0.6))
    axes.add_collection(_lines(ends.T[~finite], color=_UNKNOWN))
    ends = np.concatenate([ends, height[None]])
    lines = _lines(ends.T[finite], array=scores[finite], cmap="viridis", clim=(low, high))
    axes.add_collection(lines)
    for index, (names, _) in enumerate(levels.values()):
        _plot_axis(axes, index, names)
    axes.set(xlim=(-0.45, len(levels)), ylim=(0, 1))
    axes.set_xticks(range(len(levels)), list(levels), parse_math=False)
    axes.tick_params(length=0, labelsize=LABEL_SIZE)
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    axes.set_title(title, fontsize=TITLE_SIZE, loc="left", parse_math=False)
    scale = figure.colorbar(lines, ax=axes, pad=0, aspect=30)
    scale.solids.set(rasterized=False, edgecolor="face", alpha=1)  # type: ignore[union-attr]
    scale.ax.tick_params(labelsize=LABEL_SIZE)
    scale.ax.set_ylabel(name, fontsize=LABEL_SIZE, parse_math=False)
    return figure


def _levels_of_all(
    settings: Mapping[str, Iterable[Any]], runs: int
) -> dict[str, tuple[list[str], Int[np.ndarray, " run"]]]:
    """Levels of each setting; rejects no settings, and settings without a value for every run."""
    columns = {setting: list(values) for setting, values in settings.items()}
    if not columns or not runs:
        raise InputError("a picture of settings needs at least one setting and one run")
    for setting, values in columns.items():
        if len(values) != runs:
            raise InputError(f"{len(values)} values of {setting} for {runs} scores")
    return {setting: _levels(values) for setting, values in columns.items()}


def _levels(values: Sequence[Any]) -> tuple[list[str], Int[np.ndarray, " run"]]:
    """Distinct values as text, from the bottom of the axis, and the index of each run's value."""
    unique = {str(value): value for value in values}
    if all(isinstance(value, Real) for value in unique.values()):
        unique = dict(sorted(unique.items(), key=lambda item: item[1]))
    names = list(unique)
    return names, np.array([names.index(str(value)) for value in values])


def _spread(
    level: Int[np.ndarray, " run"], levels: int, height: Float[np.ndarray, " run"]
) -> Float[np.ndarray, " run"]:
    """Heights in [0, 1] on an axis: the level of each run's value, spread in order of scores."""
    heights = np.empty(len(level))
    for value in range(levels):
        runs = np.flatnonzero(level == value)
        order = runs[np.argsort(height[runs], kind="stable")]
        heights[order] = np.linspace(-0.5, 0.5, len(runs) + 2)[1:-1] * _SPREAD
    return (level + 0.5 + heights) / levels


def _lines(ends: Float[np.ndarray, "run axis"], **style: Any) -> LineCollection:
    """One smooth curve per run, horizontal at the axes."""
    part = np.linspace(0, 1, 20, endpoint=False)
    ease = part * part * (3 - 2 * part)
    steps = ends[:, :-1, None] + (ends[:, 1:, None] - ends[:, :-1, None]) * ease
    points = steps.reshape(len(ends), steps.shape[1] * len(part))
    down = np.concatenate([points, ends[:, -1:]], axis=1)
    across = np.broadcast_to(np.arange(down.shape[1]) / len(part), down.shape)
    return LineCollection(
        list(np.stack([across, down], axis=2)), linewidths=1.1, alpha=0.75, **style
    )


def _plot_axis(axes: Axes, axis: int, names: Sequence[str]) -> None:
    axes.axvline(axis, color="black", linewidth=0.8)
    for index, name in enumerate(names):
        axes.text(
            axis,
            (index + 0.5) / len(names),
            name,
            size=LABEL_SIZE,
            ha="center",
            va="center",
            bbox={"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 1.5},
            parse_math=False,
        )
