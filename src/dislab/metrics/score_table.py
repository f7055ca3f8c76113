"""Scores as a table for a terminal."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


def score_table(
    values: Mapping[str, float],
    intervals: Mapping[str, tuple[float, float]],
    untrained: Mapping[str, Mapping[str, Any]],
    chance: Mapping[str, float] = MappingProxyType({}),
    baselines: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> str:
    """The scores in aligned columns, one line a score.

    Args:
        values: Scalars by name.
        intervals: Ends of intervals by name; empty for no such column.
        untrained: Mean and standard deviation of each score over untrained models; empty for no
            such column.
        chance: The level of chance of each score that has one; empty for no such column.
        baselines: By the name of a column, the scores of other codes of the same images.
    """
    head = ["score", "value"]
    head += ["interval"] if intervals else []
    head += ["chance"] if chance else []
    head += ["untrained"] if untrained else []
    head += list(baselines)
    rows = [head]
    for name, value in values.items():
        row = [name, f"{value:.4f}"]
        if intervals:
            ends = intervals.get(name)
            row.append("" if ends is None else f"[{ends[0]:.4f}, {ends[1]:.4f}]")
        if chance:
            row.append(f"{chance[name]:.4f}" if name in chance else "")
        if untrained:
            row.append(_floor(untrained[name]) if name in untrained else "")
        row += [f"{own[name]:.4f}" if name in own else "" for own in baselines.values()]
        rows.append(row)
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    )


def _floor(spread: Mapping[str, Any]) -> str:
    several = not math.isnan(spread["std"])
    return f"{spread['mean']:.4f}" + (f" ± {spread['std']:.4f}" if several else "")
