"""Styles and axes of named groups of runs, shared by the pictures of studies."""

from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from typing import Any, Final

import numpy as np
from jaxtyping import Float
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dislab.errors import InputError
from dislab.plots._panels import DPI, FAINT, LABEL_SIZE, TITLE_SIZE

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe & Ito (2008): distinguishable with all common colour blindness; without yellow."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
"""One more marker than colours, so that combinations repeat only after 56 groups."""


def styles(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each different name, in order of appearance."""
    unique = list(dict.fromkeys(names))
    pairs = zip(cycle(COLOURS), cycle(MARKERS), strict=False)
    return dict(zip(unique, islice(pairs, len(unique)), strict=True))


def plain_numbers(values: Iterable[Any], name: str) -> Float[np.ndarray, " _"]:
    """The values as a vector of numbers; rejects other values, with `name` in the message."""
    try:
        return np.array([float(value) for value in values], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: the values to draw must be numbers ({error})") from error


def panel(width: float, height: float) -> tuple[Figure, Axes]:
    """A white figure of given size in inches, with one panel."""
    figure = Figure(figsize=(width, height), dpi=DPI, facecolor="white", layout="constrained")
    return figure, figure.subplots()


def finish(axes: Axes, across: str, down: str, title: str) -> None:
    """Adds axis labels, a title unless empty and a faint grid; removes top and right spines."""
    axes.set_xlabel(across, fontsize=LABEL_SIZE + 1, parse_math=False)
    axes.set_ylabel(down, fontsize=LABEL_SIZE + 1, parse_math=False)
    axes.set_title(title, fontsize=TITLE_SIZE, loc="left", parse_math=False)
    axes.tick_params(labelsize=LABEL_SIZE)
    axes.grid(color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend_width(names: Iterable[str]) -> float:
    """Width in inches of a legend with these names."""
    return 0.7 + 0.07 * max((len(name) for name in names), default=0)


def legend(figure: Figure, handles: Sequence[Artist], names: Sequence[str]) -> None:
    """Adds a legend at the right of the panel; names are shown literally, without math mode."""
    box = figure.legend(
        handles,
        [str(index) for index in range(len(names))],
        loc="outside right upper",
        fontsize=LABEL_SIZE,
        frameon=False,
    )
    for text, name in zip(box.get_texts(), names, strict=True):
        text.set_parse_math(False)
        text.set_text(name)
