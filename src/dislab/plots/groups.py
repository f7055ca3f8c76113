"""Figures of scores of named groups of runs: violins, scatter plots and learning curves."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle, islice
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from dislab.errors import InputError
from dislab.plots._arguments import takes_tables
from dislab.plots._panels import COLUMN, FAINT, LABEL_SIZE, TITLE_SIZE, panel, plain_numbers

_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe & Ito (2008): distinguishable with all common colour blindness; without yellow."""
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
"""One more marker than colours, so that combinations repeat only after 56 groups."""
_ROW: Final = 0.24
"""Height of one violin in inches."""
_LETTER: Final = 0.07
"""Width of a letter of a name in inches."""
_TICKS: Final = 4
"""Maximum number of intervals between ticks of a score, whose labels stay apart."""
_LEAST_SCORES: Final = 5
"""Minimum number of scores for a violin; fewer are drawn only as points."""


@takes_tables
def violins(
    groups: Mapping[str, Iterable[Any]],
    name: str,
    title: str = "",
    kinds: Sequence[str] = (),
    chance: float = math.nan,
) -> Figure:
    """A figure with one row per group: a violin of its scores, every score, and their mean.

    A violin is a kernel density estimate between the smallest and the largest score; a group of
    fewer than five scores has none. Non-finite scores are left out, and their number is given after
    the group's name.

    After Locatello et al. (2019), https://arxiv.org/abs/1811.12359, section 5.3.

    Args:
        groups: Scores by name of the group, from the top. Convert a column of a table with
            `dict(iter(table.groupby("method")["score.mig"]))`.
        name: Name of the score.
        title: Title above the figure; empty for none.
        kinds: Kind of each group, such as its method, which sets its colour; or empty. Kinds that
            are part of the names of their groups need no legend, and get none.
        chance: Level of chance, a dotted line; none unless finite.

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
    chosen = _styles(kinds or ["all"])
    labels = [_violin_label(group, scores) for group, scores in values.items()]
    is_named = all(kind in group for kind, group in zip(kinds, values, strict=False))
    legend = _legend_room(() if is_named else chosen)
    width = max(2.0 + _LETTER * max(map(len, labels)), legend.width)
    figure, axes = panel(width, _ROW * len(values) + 0.7 + legend.height)
    for row, scores in enumerate(values.values()):
        colour = chosen[kinds[row] if kinds else "all"][0]
        _plot_violin(axes, row, scores[np.isfinite(scores)], colour)
    if math.isfinite(chance):
        axes.axvline(chance, color="black", linewidth=0.8, linestyle=":")
    axes.set_ylim(len(values) - 0.4, -0.6)
    axes.set_yticks(range(len(values)), labels, parse_math=False)
    _finish(axes, name, "", title)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(_TICKS))
    if not is_named:
        handles = [Patch(color=colour, alpha=0.6) for colour, _ in chosen.values()]
        _legend(figure, handles, list(chosen), legend)
    return figure


def _plot_violin(axes: Axes, row: int, scores: Float[np.ndarray, " run"], colour: str) -> None:
    if len(scores) >= _LEAST_SCORES and scores.min() < scores.max():
        bodies: Any = axes.violinplot(
            [scores], [row], orientation="horizontal", widths=0.8, showextrema=False
        )["bodies"]
        for body in bodies:
            body.set(facecolor=colour, alpha=0.35, edgecolor="none")
    if len(scores):
        axes.plot([scores.mean()] * 2, [row - 0.3, row + 0.3], color="black", linewidth=1.6)
    # equal scores get the same positions every time, with neighbours kept apart
    offsets = 0.12 * np.sin(2.4 * np.arange(len(scores)))
    axes.scatter(scores, row + offsets, s=9, color=colour, linewidths=0, alpha=0.8, zorder=3)


def _violin_label(group: str, scores: Float[np.ndarray, " run"]) -> str:
    missing = int((~np.isfinite(scores)).sum())
    return f"{group} ({missing} missing)" if missing else group


@takes_tables
def scatter(
    first: Iterable[Any],
    second: Iterable[Any],
    names: tuple[str, str],
    groups: Sequence[str] = (),
    title: str = "",
    p: Mapping[str, float] = MappingProxyType({}),
) -> Figure:
    """A figure with one point per run, and Spearman's rank correlation ρ over all and per group.

    Runs with a non-finite score are left out. ρ is not given for fewer than three runs or for a
    constant score.

    Args:
        first: The score on the horizontal axis, one number per run.
        second: The score on the vertical axis, one number per run.
        names: Names of both scores.
        groups: Group of each run, such as its method, which sets colour and marker; or empty.
        title: Title above the figure; empty for none.
        p: p value of ρ by group, and of all runs under the empty name; shown if known.

    Raises:
        InputError: The numbers of scores and groups differ, or scores are not numeric.
    """
    across, down = plain_numbers(first, names[0]), plain_numbers(second, names[1])
    members = np.array([str(group) for group in groups] or ["all"] * len(across), dtype=object)
    if not len(across) == len(down) == len(members):
        raise InputError(
            f"{len(across)} and {len(down)} scores of {len(members)} runs; give one of each a run"
        )
    finite = np.isfinite(across) & np.isfinite(down)
    across, down, members = across[finite], down[finite], members[finite]
    chosen = _styles(list(members))
    rhos = {
        name: _rho(across[members == name], down[members == name], p.get(name), "\n")
        for name in chosen
    }
    labels = [f"{name}\n{rho}" for name, rho in rhos.items()]
    legend = _legend_room(labels if groups else ())
    figure, axes = panel(legend.width, 2.6 + legend.height)
    handles = []
    for name, (colour, marker) in chosen.items():
        in_group = members == name
        handles.append(
            axes.scatter(
                across[in_group],
                down[in_group],
                s=22,
                color=colour,
                marker=marker,
                alpha=0.75,
                linewidths=0,
            )
        )
    _finish(axes, *names, f"{title}\n{_rho(across, down, p.get(''), ', ')}".lstrip())
    if groups:
        _legend(figure, handles, labels, legend)
    return figure


def _rho(
    first: Float[np.ndarray, " run"],
    second: Float[np.ndarray, " run"],
    p: float | None,
    before_p: str,
) -> str:
    """Spearman's ρ, its p if known, and the number of runs."""
    from scipy.stats import spearmanr

    runs = f"{len(first)} runs"
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return f"no ρ, {runs}"
    rho = round(float(spearmanr(first, second).statistic), 2) + 0.0  # 0 has no sign
    text = f"ρ = {rho:.2f}".replace("-", "−")
    if p is None:
        return f"{text}, {runs}"
    corrected = "< .001" if p < 0.001 else f"= {p:.3f}".replace("0.", ".", 1)
    return f"{text}{before_p}p {corrected}, {runs}"


@takes_tables
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
    legend = _legend_room(curves)
    figure, axes = panel(legend.width, 2.4 + legend.height)
    handles = []
    for index, (group, (colour, marker)) in enumerate(_styles(list(curves)).items()):
        mean, spread = _moments(curves[group])
        dashes = ("-", "--", ":")[index // len(_COLOURS) % 3]
        handles += axes.plot(sizes, mean, dashes, color=colour, marker=marker, markersize=5)
        axes.fill_between(
            sizes, mean - spread, mean + spread, color=colour, alpha=0.18, linewidth=0
        )
    axes.set_xscale("log")
    axes.set_xticks(list(sizes), [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    _finish(axes, "labels", name, title)
    _legend(figure, handles, list(curves), legend)
    return figure


def _moments(
    scores: Float[np.ndarray, "run size"],
) -> tuple[Float[np.ndarray, " size"], Float[np.ndarray, " size"]]:
    """Mean and deviation of the finite numbers of each column; NaN if there are too few."""
    columns = [column[np.isfinite(column)] for column in scores.T]
    means = [column.mean() if len(column) else np.nan for column in columns]
    deviations = [column.std(ddof=1) if len(column) > 1 else np.nan for column in columns]
    return np.array(means), np.array(deviations)


def _styles(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each different name, in order of appearance."""
    unique = list(dict.fromkeys(names))
    pairs = zip(cycle(_COLOURS), cycle(_MARKERS), strict=False)
    return dict(zip(unique, islice(pairs, len(unique)), strict=True))


def _finish(axes: Axes, across: str, down: str, title: str) -> None:
    """Adds axis labels, a title unless empty and a faint grid; removes top and right spines."""
    axes.set_xlabel(across, fontsize=LABEL_SIZE, parse_math=False)
    axes.set_ylabel(down, fontsize=LABEL_SIZE, parse_math=False)
    axes.set_title(title, fontsize=TITLE_SIZE, loc="left", parse_math=False)
    axes.tick_params(labelsize=LABEL_SIZE)
    axes.grid(color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


class _Room(NamedTuple):
    """Width of a figure with a legend below the panel, and the legend's height, in inches."""

    width: float
    height: float
    columns: int


def _legend_room(names: Iterable[str]) -> _Room:
    """Room for a legend with these names, which may have several lines; none without names."""
    lines = [name.split("\n") for name in names]
    widest = 0.45 + 0.06 * max((len(line) for name in lines for line in name), default=0)
    columns = max(1, int(COLUMN / widest))
    height = max(map(len, lines), default=0) * 0.13 + 0.05
    rows = math.ceil(len(lines) / columns)
    return _Room(max(COLUMN, widest), rows * height + (0.1 if lines else 0.0), columns)


def _legend(figure: Figure, handles: Sequence[Artist], names: Sequence[str], room: _Room) -> None:
    """Adds a legend below the panel; names are shown literally, without math mode."""
    box = figure.legend(
        handles,
        ["\n".join("x" * len(line) for line in name.split("\n")) for name in names],
        loc="outside lower left",
        ncols=room.columns,
        fontsize=LABEL_SIZE,
        frameon=False,
    )
    for text, name in zip(box.get_texts(), names, strict=True):
        text.set_parse_math(False)
        text.set_text(name)
