"""Scatter plots of latents against factors."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from dislab.errors import InputError
from dislab.plots._panels import DPI, INK, LABEL_SIZE

_SIDE: Final = 2.6
"""Size of a panel in inches."""
_DOT: Final = "#9fb6d6"


def codes_against_factors(
    codes: Float[np.ndarray, "point panel"],
    values: Float[np.ndarray, "_ _"],
    names: Sequence[str],
) -> Figure:
    """A figure with one panel per pair of latent and factor: inferred codes against true values.

    A dot is an image, and the line connects the mean codes of the factor's values. A latent that
    encodes only its factor gives a narrow, monotonic line.

    After Kulkarni et al. (2015), https://arxiv.org/abs/1503.03167, who plot inferred against true
    angles and light.

    Args:
        codes: The latent of each panel.
        values: The values of each panel's factor in its unit, shape (point, panel).
        names: Names of the factors, with their units, such as `azimuth (deg)`.

    Raises:
        InputError: The arrays are empty, shapes differ, or the number of names differs from that of
            panels.
    """
    if not codes.size or codes.shape != values.shape:
        raise InputError(
            f"codes of shape {codes.shape} cannot be drawn over values of shape {values.shape}; "
            "give one column of each for a panel"
        )
    if len(names) != codes.shape[1]:
        raise InputError(f"{len(names)} names for {codes.shape[1]} panels: {', '.join(names)}")
    figure = Figure(
        figsize=(_SIDE * len(names), _SIDE), dpi=DPI, facecolor="white", layout="constrained"
    )
    for axes, code, value, name in zip(
        figure.subplots(1, len(names), squeeze=False)[0], codes.T, values.T, names, strict=True
    ):
        levels, level = np.unique(value, return_inverse=True)
        means = np.bincount(level, code) / np.bincount(level)
        axes.scatter(value, code, s=4, color=_DOT, linewidths=0)
        axes.plot(levels, means, color=INK)
        axes.set_xlabel(name, fontsize=LABEL_SIZE, parse_math=False)
        axes.set_ylabel("latent", fontsize=LABEL_SIZE)
        axes.tick_params(labelsize=LABEL_SIZE)
    return figure
