"""Figures of a page: training curves, and the score sheet."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from dislab.errors import InputError
from dislab.metrics.sheet import sheet_of

STAGES: Final = {"train": "#26456e", "validation": "#c0392b"}
"""Stages to draw curves of, with their colours."""
MOST_PANELS: Final = 9
MOST_POINTS: Final = 400
"""Maximum number of points of a curve; longer ones are thinned to every n-th point."""
_ACROSS: Final = 3


def curves_figure(rows: Sequence[Mapping[str, str]]) -> Figure | None:
    """Training curves with one panel per loss term; None if nothing changed in training.

    Args:
        rows: The rows of `metrics.csv`.
    """
    curves = {
        f"{stage}/{term}": curve
        for term in _terms(rows)
        for stage in STAGES
        if (curve := _curve(rows, f"{stage}/{term}")) is not None
    }
    terms = [name for name in _terms(rows) if any(f"{stage}/{name}" in curves for stage in STAGES)]
    terms = terms[:MOST_PANELS]
    if not terms:
        return None
    down = -(-len(terms) // _ACROSS)
    across = min(_ACROSS, len(terms))
    figure = Figure((3.3 * across, 2.3 * down), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for axes, term in zip(panels, terms, strict=False):
        for stage, colour in STAGES.items():
            if (curve := curves.get(f"{stage}/{term}")) is not None:
                axes.plot(*curve, color=colour, linewidth=1.0, label=stage)
        axes.set_title(term, fontsize=9, loc="left", parse_math=False)
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3, linewidth=0.5)
    for idle in panels[len(terms) :]:
        idle.set_axis_off()
    panels[0].legend(fontsize=7, frameon=False)
    panels[0].set_xlabel("optimiser step", fontsize=8)
    return figure


def _terms(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Terms logged in training, the total loss first."""
    names = {
        name.partition("/")[2] for row in rows for name in row if name.partition("/")[0] in STAGES
    }
    return sorted(names, key=lambda name: (name != "loss", name.count("/"), name))


def _curve(rows: Sequence[Mapping[str, str]], name: str) -> npt.NDArray[np.float64] | None:
    """Steps and values of a logged name; None if it is missing or constant."""
    points = [(float(row["step"]), float(row[name])) for row in rows if name in row]
    if len({value for _, value in points}) < 2:
        return None
    return np.asarray(points[:: -(-len(points) // MOST_POINTS)]).T


def sheet_figure(record: Mapping[str, Any]) -> Figure | None:
    """Score sheet of a record of `scores.json`; None for a run without scores.

    Args:
        record: The record written by `test` or `validate`.
    """
    scores = {name: score for name, score in record.get("scores", {}).items() if score is not None}
    try:
        return sheet_of(
            scores,
            {name: (ends[0], ends[1]) for name, ends in record.get("intervals", {}).items()},
            list(record["data"]["factors"]),
            record.get("parts", {}),
            "",
            {k: v for k, v in (record.get("chance") or {}).items() if v is not None},
        )
    except (
        InputError,
        KeyError,
        TypeError,
        ValueError,
    ):  # a record written by hand
        return None
