"""Pictures of the tables of a study."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from dislab.plots import correlation_matrix, parallel_settings, scatter, violins
from dislab.study.statistics import correlation_table
from dislab.study.statistics._frames import groups, numbers
from dislab.study.summary import UDR, StudySummary, label, slug

_WIDE: Final = 40
"""Maximum number of scores in a matrix; more would be illegible."""
_TALL: Final = 40
"""Maximum number of violins in a picture; trailing axes are dropped to stay below it."""


class StudyPicture(NamedTuple):
    """One picture of a study.

    Attributes:
        name: File name without suffix.
        caption: One-sentence description.
        figure: The picture.
    """

    name: str
    caption: str
    figure: Figure


def pictures(summary: StudySummary, most: int | None = None) -> Iterator[StudyPicture]:
    """Draws the pictures of a study one by one.

    They are violin plots of each measure by setting, the matrix of rank correlations, scatter plots
    of the target against the measures that need no factor labels, and parallel coordinates of
    settings and target.

    Args:
        summary: Result of `summarize`.
        most: Maximum number of violin plots and of scatter plots, those of the target first; None
            for all.
    """
    runs, target = summary.runs, summary.target
    varying = [axis for axis in summary.axes if runs[axis].map(repr).nunique() > 1]
    values = numbers(runs, [*summary.measures, *(name for name in [UDR] if name in runs)])
    by = varying[:1]
    kinds = [str(value) for value in runs[by[0]]] if by else []
    for measure in [summary.target, *(name for name in summary.measures if name != target)][:most]:
        yield StudyPicture(
            f"violins_{slug(label(measure))}",
            f"{label(measure)} by setting; every point is a run.",
            _violins(runs, values[measure], varying, label(measure)),
        )
    if "rank_correlations" in summary.tables:
        rho = correlation_table(summary.tables["rank_correlations"].table)
        if len(rho) <= _WIDE:
            names = [label(str(name)) for name in rho.columns]
            yield StudyPicture(
                "rank_correlations",
                f"Spearman's rank correlations of the scores over {len(runs)} runs.",
                correlation_matrix(rho.to_numpy(), [label(str(name)) for name in rho.index], names),
            )
    others = [str(name) for name in values if name != target]
    for partner in [name for name in others if name == UDR or not _needs_labels(name)][:most]:
        name = label(partner)
        yield StudyPicture(
            f"scatter_{slug(name)}",
            f"{label(target)} against {name}, with Spearman's ρ over all runs"
            f"{f' and by {by[0]}' if by else ''}.",
            scatter(values[target], values[partner], (label(target), name), kinds),
        )
    if varying:
        yield StudyPicture(
            "settings",
            f"The settings of every run beside its {label(target)}; one line is one run.",
            parallel_settings(
                {axis: [_or_dash(value) for value in runs[axis]] for axis in varying},
                values[target],
                label(target),
            ),
        )


def _violins(runs: pd.DataFrame, values: pd.Series, axes: list[str], name: str) -> Figure:
    axes = _few(runs, axes)
    scores = {}
    kinds = []
    for key, group in groups(runs, axes):
        texts = [str(value) for value in key.values() if _or_dash(value) is value]
        scores[", ".join(texts) or "all"] = values[group.index].tolist()
        kinds.append(texts[0] if texts else "all")
    return violins(scores, name, kinds=kinds if len(axes) > 1 else ())


def _few(runs: pd.DataFrame, axes: list[str]) -> list[str]:
    """The longest prefix of the axes that gives few enough violins for one picture."""
    for count in range(len(axes), 1, -1):
        if len(list(groups(runs, axes[:count]))) <= _TALL:
            return axes[:count]
    return axes[:1]


def _needs_labels(column: str) -> bool:
    """Whether a score compares codes with factors."""
    return column.startswith("score.") and not column.startswith(
        ("score.elbo_", "score.reconstruction_")
    )


def _or_dash(value: Any) -> Any:
    """The value, or a dash for a run without this setting."""
    return "–" if pd.api.types.is_scalar(value) and pd.isna(value) else value
