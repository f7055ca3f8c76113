"""One score against another, with their rank correlation."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from dislab.errors import InputError
from dislab.plots._groups import finish, legend, legend_width, panel, plain_numbers, styles


def scatter(
    first: Iterable[Any],
    second: Iterable[Any],
    names: tuple[str, str],
    groups: Sequence[str] = (),
    title: str = "",
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
    chosen = styles(list(members))
    figure, axes = panel(
        4.2 + (legend_width([*chosen, "ρ = −0.00, 000 runs"]) if groups else 0.0),
        max(3.6, 0.36 * len(chosen)),
    )
    handles, labels = [], []
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
        labels.append(f"{name}\n{_rho(across[in_group], down[in_group])}")
    finish(axes, *names, f"{title}\n{_rho(across, down)}".lstrip())
    if groups:
        legend(figure, handles, labels)
    return figure


def _rho(first: Float[np.ndarray, " run"], second: Float[np.ndarray, " run"]) -> str:
    from scipy.stats import spearmanr

    runs = f"{len(first)} runs"
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return f"no ρ, {runs}"
    rho = round(float(spearmanr(first, second).statistic), 2) + 0.0  # 0 has no sign
    return f"ρ = {rho:.2f}, {runs}".replace("-", "−")
