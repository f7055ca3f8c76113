"""Figures of the papers: what is drawn is what was given."""

import numpy as np
import pytest
from matplotlib.collections import EllipseCollection

from dislab.errors import InputError
from dislab.plots import codes_against_factors, pixels, posterior_overlap

CODES = np.array([[1.0, 0.0], [3.0, 0.5], [5.0, 0.0], [6.0, 0.0]])
VALUES = np.array([[30.0, 2.0], [30.0, 1.0], [-30.0, 3.0], [-30.0, 4.0]])


def test_a_dot_is_an_image_and_the_line_joins_the_means_of_repeated_values() -> None:
    figure = codes_against_factors(CODES, VALUES, ["azimuth (deg)", "a $b$"])
    first, second = figure.axes
    dots = [[30, 1], [30, 3], [-30, 5], [-30, 6]]
    assert np.asarray(first.collections[0].get_offsets()).tolist() == dots
    assert np.asarray(first.lines[0].get_xydata()).tolist() == [[-30, 5.5], [30, 2]]
    assert not second.lines, "values that do not repeat have no means"
    assert [axes.get_xlabel() for axes in figure.axes] == ["azimuth (deg)", "a $b$"]
    assert pixels(figure).std() > 0


def test_an_ellipse_is_a_posterior() -> None:
    mean, deviation = np.array([[0.0, 1.0], [-2.0, 0.5]]), np.array([[0.5, 1.0], [0.25, 0.1]])
    figure = posterior_overlap(mean, deviation, np.array([0.0, 1.0]), "posX")
    axes, scale = figure.axes
    (ellipses,) = axes.collections
    assert isinstance(ellipses, EllipseCollection)
    assert np.asarray(ellipses.get_offsets()).tolist() == mean.tolist()
    assert np.asarray(ellipses.get_widths()).tolist() == [1.0, 0.5]
    assert np.asarray(ellipses.get_heights()).tolist() == [2.0, 0.2]
    assert np.asarray(ellipses.get_array()).tolist() == [0.0, 1.0]
    # all ellipses are in the picture, and neither latent is stretched
    assert axes.get_xlim() == axes.get_ylim() == (-2.25, 2.25)
    assert scale.get_ylabel() == "posX"
    assert pixels(figure).std() > 0


@pytest.mark.parametrize(
    ("codes", "values", "names", "message"),
    [
        (np.empty((0, 1)), np.empty((0, 1)), ["a"], "give one column of each"),
        (CODES, VALUES[:, :1], ["a"], r"shape \(4, 2\) .* shape \(4, 1\)"),
        (CODES, VALUES, ["a"], "1 name for 2 panels: a"),
    ],
)
def test_panels_that_do_not_fit_are_refused(
    codes: np.ndarray, values: np.ndarray, names: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        codes_against_factors(codes, values, names)


@pytest.mark.parametrize(
    ("count", "deviation", "message"),
    [
        (0, 1.0, "no posteriors of two latents"),
        (3, 0.0, "deviations are above 0, not 0"),
    ],
)
def test_posteriors_that_cannot_be_drawn_are_refused(
    count: int, deviation: float, message: str
) -> None:
    spread = np.full((count, 2), deviation)
    with pytest.raises(InputError, match=message):
        posterior_overlap(np.zeros((count, 2)), spread, np.zeros(count), "posX")
