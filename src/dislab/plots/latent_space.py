"""Figures of codes and posteriors: latents against factors, and posteriors of two latents."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Float
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure

from dislab.errors import InputError
from dislab.factors import check_factor_names
from dislab.notebook_figure import NotebookFigure
from dislab.plots._arguments import takes_tables
from dislab.plots._panels import DPI, INK, LABEL_SIZE, panel

_SIDE: Final = 2.6
"""Size of a panel in inches."""
_DOT: Final = "#9fb6d6"


@takes_tables
def codes_against_factors(
    codes: Float[np.ndarray, "point panel"],
    values: Float[np.ndarray, "_ _"],
    names: Sequence[str],
) -> Figure:
    """A figure with one panel per pair of latent and factor: inferred codes against true values.

    A dot is an image, and the line connects the mean codes of the factor's values; values that
    hardly repeat have none. A latent that encodes only its factor gives a narrow, monotonic line.

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
    check_factor_names(names, codes.shape[1], "panel", distinct=False)
    figure = NotebookFigure(
        figsize=(_SIDE * len(names), _SIDE), dpi=DPI, facecolor="white", layout="constrained"
    )
    for axes, code, value, name in zip(
        figure.subplots(1, len(names), squeeze=False)[0], codes.T, values.T, names, strict=True
    ):
        levels, level = np.unique(value, return_inverse=True)
        axes.scatter(value, code, s=4, color=_DOT, linewidths=0)
        if len(levels) <= len(value) / 2:
            axes.plot(levels, np.bincount(level, code) / np.bincount(level), color=INK)
        axes.set_xlabel(name, fontsize=LABEL_SIZE, parse_math=False)
        axes.set_ylabel("latent", fontsize=LABEL_SIZE)
        axes.tick_params(labelsize=LABEL_SIZE)
    return figure


@takes_tables
def posterior_overlap(
    mean: Float[np.ndarray, "image 2"],
    deviation: Float[np.ndarray, "image 2"],
    values: Float[np.ndarray, " image"],
    name: str,
) -> Figure:
    """A figure of posteriors in the plane of two latents, as ellipses of one standard deviation.

    Under a penalty on the KL, posteriors widen until they overlap. Images with overlapping
    posteriors are confused in decoding, which costs least if neighbours in the plane are similar
    images; gradual changes of colour indicate this.

    After Burgess et al. (2018), https://arxiv.org/abs/1804.03599, on the overlap of posteriors.

    Args:
        mean: Posterior means.
        deviation: Posterior standard deviations.
        values: A factor's value of each image, which colours its ellipse.
        name: The factor, with its unit.

    Raises:
        InputError: The arrays are empty, do not have two latents, shapes differ, or a
            deviation is not above 0.
    """
    shapes = mean.shape, deviation.shape, values.shape
    if not mean.size or shapes != ((len(mean), 2), (len(mean), 2), (len(mean),)):
        raise InputError(
            f"means of shape {shapes[0]}, deviations of {shapes[1]} and values of {shapes[2]} are "
            "no posteriors of two latents; give (images, 2) twice and (images,)"
        )
    if not (deviation > 0).all():
        raise InputError(f"deviations are above 0, not {deviation.min():g}")
    figure, axes = panel(4.2, 3.6)
    ellipses = EllipseCollection(
        2 * deviation[:, 0],
        2 * deviation[:, 1],
        np.zeros(len(mean)),
        units="xy",
        offsets=mean,
        offset_transform=axes.transData,
        array=values,
        cmap="viridis",
        alpha=0.35,
    )
    axes.add_collection(ellipses)
    reach = float((np.abs(mean) + deviation).max())
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axes.set_xlabel("first latent", fontsize=LABEL_SIZE)
    axes.set_ylabel("second latent", fontsize=LABEL_SIZE)
    axes.tick_params(labelsize=LABEL_SIZE)
    scale = figure.colorbar(ellipses, ax=axes)
    scale.set_label(name, fontsize=LABEL_SIZE)
    scale.ax.tick_params(labelsize=LABEL_SIZE)
    return figure
