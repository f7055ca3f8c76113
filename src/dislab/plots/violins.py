"""Violin plots of a score, one violin per setting."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from dislab.errors import InputError
from dislab.plots._groups import finish, legend, legend_width, panel, plain_numbers, styles

ROW: Final = 0.42
"""Height of one violin in inches."""
LEAST: Final = 5
"""Minimum number of scores for a violin; fewer are drawn only as points."""


def violins(
    groups: Mapping[str, Iterable[Any]],
    name: str,
    title: str = "",
    kinds: Sequence[str] = (),
) -> Figure:
    """A figure with one row per group: a violin of its scores, every score, and the median.

    A violin is a kernel density estimate between the smallest and the largest score; a group of
    fewer than five scores has none. Non-finite scores are left out, and their number is given after
    the group's name.

    After Locatello et al. (2019), https://arxiv.org/abs/1811.12359, section 5.3.

    Args:
        groups: Scores by name of the group, from the top. Convert a column of a table with
            `dict(iter(table.groupby("method")["score.mig"]))`.
        name: Name of the score.
        title: Title above the figure; empty for none.
        kinds: Kind of each group, such as its method, which sets its colour; or empty.

    Raises:
        InputError: There is no group, the numbers of kinds and groups differ, or scores are not
            numeric.
    """
    if not groups or len(kinds) not in (0, len(groups)):
        raise InputError(
            f"{len(kinds)} kinds for {len(groups)} groups; give at least one group, and one kind "
            "for each or none at all"
        )
    values = {group: plain_numbers(scores, group) for group, scores in groups.items()}
    chosen = styles(kinds or ["all"])
    longest = max(len(label) for label in values)
    width = 5.0 + 0.07 * longest + (legend_width(kinds) if kinds else 0.0)
    figure, axes = panel(width, ROW * len(values) + 0.9)
    for row, scores in enumerate(values.values()):
        colour = chosen[kinds[row] if kinds else "all"][0]
        _plot(axes, row, scores[np.isfinite(scores)], colour)
    labels = [_label(group, scores) for group, scores in values.items()]
    axes.set_ylim(len(values) - 0.4, -0.6)
    axes.set_yticks(range(len(values)), labels, parse_math=False)
    finish(axes, name, "", title)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    if kinds:
        handles = [Patch(color=colour, alpha=0.6) for colour, _ in chosen.values()]
        legend(figure, handles, list(chosen))
    return figure


def _plot(axes: Axes, row: int, scores: Float[np.ndarray, " run"], colour: str) -> None:
    if len(scores) >= LEAST and scores.min() < scores.max():
        bodies: Any = axes.violinplot(
            [scores], [row], orientation="horizontal", widths=0.8, showextrema=False
        )["bodies"]
        for body in bodies:
            body.set(facecolor=colour, alpha=0.35, edgecolor="none")
    # equal scores get the same positions every time, with neighbours kept apart
    offsets = 0.12 * np.sin(2.4 * np.arange(len(scores)))
    axes.scatter(scores, row + offsets, s=9, color=colour, linewidths=0, alpha=0.8)
    if len(scores):
        axes.plot([np.median(scores)] * 2, [row - 0.3, row + 0.3], color="black", linewidth=1.6)


def _label(group: str, scores: Float[np.ndarray, " run"]) -> str:
    missing = int((~np.isfinite(scores)).sum())
    return f"{group} ({missing} missing)" if missing else group
