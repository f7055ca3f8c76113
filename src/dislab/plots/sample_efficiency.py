"""A score as a function of the number of labels."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from dislab.errors import InputError
from dislab.plots._groups import COLOURS, finish, legend, legend_width, panel, styles


def sample_efficiency(
    curves: Mapping[str, Float[np.ndarray, "run size"]],
    sizes: Sequence[int],
    name: str,
    title: str = "",
) -> Figure:
    """A figure with one curve per group: the mean over its runs, with a band.

    The band is mean ± standard deviation (dividing by runs − 1); a group of one run has none.
    Non-finite numbers are left out. Sizes are on a logarithmic scale.

    After Locatello et al. (2019), https://arxiv.org/abs/1811.12359, section 5.5, on learning from
    few labels.

    Args:
        curves: Scores by name of the group, with one row per run and one column per size.
        sizes: Numbers of labels that predictors were trained on, increasing.
        name: Name of the score.
        title: Title above the figure; empty for none.

    Raises:
        InputError: There is no curve, sizes do not increase from at least 1, or a group does not
            have one column per size.
    """
    if not curves or list(sizes) != sorted(set(sizes)) or min(sizes, default=0) < 1:
        raise InputError(f"sizes are {list(sizes)}; give rising numbers, and at least one curve")
    for group, scores in curves.items():
        if scores.shape[1] != len(sizes):
            raise InputError(f"{group} has scores of shape {scores.shape} for {len(sizes)} sizes")
    figure, axes = panel(4.6 + legend_width(curves), max(3.4, 0.2 * len(curves)))
    handles = []
    for index, (group, (colour, marker)) in enumerate(styles(list(curves)).items()):
        mean, spread = _moments(curves[group])
        dashes = ("-", "--", ":")[index // len(COLOURS) % 3]
        handles += axes.plot(sizes, mean, dashes, color=colour, marker=marker, markersize=5)
        axes.fill_between(
            sizes, mean - spread, mean + spread, color=colour, alpha=0.18, linewidth=0
        )
    axes.set_xscale("log")
    axes.set_xticks(list(sizes), [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    finish(axes, "labels", name, title)
    legend(figure, handles, list(curves))
    return figure


def _moments(
    scores: Float[np.ndarray, "run size"],
) -> tuple[Float[np.ndarray, " size"], Float[np.ndarray, " size"]]:
    """Mean and deviation of the finite numbers of each column; NaN if there are too few."""
    columns = [column[np.isfinite(column)] for column in scores.T]
    means = [column.mean() if len(column) else np.nan for column in columns]
    deviations = [column.std(ddof=1) if len(column) > 1 else np.nan for column in columns]
    return np.array(means), np.array(deviations)
