"""Hinton diagrams, heat maps and score sheets: what is drawn is what was given."""

from collections.abc import Callable
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure

from dislab.codes.checks import ConstantFactorWarning
from dislab.errors import InputError
from dislab.metrics import evaluate_fully
from dislab.metrics.sheet import parts_of, sheet
from dislab.plots import heat_map, hinton, pixels, score_sheet

MATRIX = np.array([[1.0, 0.0], [0.25, -0.25], [0.0, np.nan]])
NAMES = ["a $name$", "b"]


def test_areas_of_squares_are_the_numbers() -> None:
    figure = hinton(MATRIX, NAMES, "title")
    axes = figure.axes[0]
    (squares,) = (one for one in axes.collections if isinstance(one, PatchCollection))
    boxes = [path.get_extents() for path in squares.get_paths()]
    areas = np.array([box.width * box.height for box in boxes]).reshape(3, 2)
    expected = np.array([[1.0, 0.0], [0.25, 0.25], [0.0, 0.0]])
    np.testing.assert_allclose(areas / areas[0, 0], expected, atol=1e-12)
    centre = (boxes[3].x0 + boxes[3].x1) / 2, (boxes[3].y0 + boxes[3].y1) / 2
    assert centre == pytest.approx((1, 1))
    white = (squares.get_facecolors() == 1.0).all(1)  # type: ignore[attr-defined]
    assert white.tolist() == [False, False, False, True, False, False]
    assert np.asarray(axes.lines[0].get_xydata()).tolist() == [[2, 1]]
    assert [text.get_text() for text in axes.get_yticklabels()] == NAMES
    assert axes.get_title(loc="left") == "title"


def test_rows_of_factors_that_are_hardly_predicted_are_faint() -> None:
    figure = hinton(np.abs(MATRIX), NAMES, informativeness=np.array([0.5, np.nan]))
    (squares,) = (one for one in figure.axes[0].collections if isinstance(one, PatchCollection))
    alphas = np.asarray(squares.get_facecolors())[:, 3]  # type: ignore[attr-defined]
    assert alphas.reshape(3, 2)[0].tolist() == [0.5, 0.0]
    parts = {"a_importance": [[1.0, 0.0]], "b_informativeness_per_factor": [0.1, 0.2]}
    assert parts_of(parts, NAMES).informativeness is None  # that of other importances
    found = parts_of({**parts, "a_informativeness_per_factor": [0.3, None]}, NAMES)
    assert found.informativeness is not None
    assert found.informativeness[0] == 0.3


def test_shades_of_importance_begin_at_the_chance_of_each_factor() -> None:
    """Half of a factor of two values is chance, and of one of many values far above it."""
    name = "a_informativeness_per_factor"
    parts = {"a_importance": [[1.0, 1.0], [1.0, 1.0]], name: [0.5, 0.52]}
    assert _predicted(parts) == [0.5, 0.52]  # the chance is not known
    assert _predicted({**parts, f"{name}_by_chance": [0.52, 0.04]}) == pytest.approx([0, 0.5])
    constant = {**parts, name: [1.0, 1.0], f"{name}_by_chance": [1.0, 0.04]}
    assert _predicted(constant) == [0, 1]  # a constant test part tells nothing


def _predicted(parts: dict[str, Any]) -> list[float]:
    predicted = parts_of(parts, NAMES).predicted()
    assert predicted is not None
    return list(predicted)


def test_colours_and_texts_are_the_numbers() -> None:
    figure = heat_map(np.abs(MATRIX), NAMES, "nats")
    axes = figure.axes[0]
    shown: Any = np.ma.filled(np.ma.asarray(axes.images[0].get_array()), np.nan)
    np.testing.assert_array_equal(shown, np.abs(MATRIX).T)
    assert axes.images[0].get_clim() == (0.0, 1.0)
    texts = {text.get_position(): text.get_text() for text in axes.texts}
    assert texts == {(0, 0): "1.0", (0, 1): ".00", (1, 0): ".25", (1, 1): ".25", (2, 0): ".00"}
    assert figure.axes[1].get_title(loc="left") == "nats"


def test_columns_of_latents_that_are_not_in_use_are_grey_with_their_numbers() -> None:
    axes = heat_map(np.abs(MATRIX), NAMES, "nats", kl=np.array([0.1, 1.0, 2.0])).axes[0]
    shown: Any = np.ma.asarray(axes.images[0].get_array())
    assert np.ma.getmaskarray(shown)[:, :2].T.tolist() == [[True, True], [False, False]]
    assert axes.images[0].get_clim() == (0.0, 0.25)
    assert axes.texts[0].get_text() == "1.0"
    assert axes.get_xlabel() == "latent (grey: KL of at most 0.1 nats)"
    sheet = score_sheet({"mig": 0.5}, {}, NAMES, None, np.abs(MATRIX), np.array([0.1, 1.0, 2.0]))
    assert axes.get_xlabel() in [part.get_xlabel() for part in sheet.axes]


def test_many_latents_get_no_numbers_in_cells_and_few_ticks() -> None:
    axes = heat_map(np.ones((128, 2)), NAMES, "nats").axes[0]
    assert not axes.texts
    assert len(axes.get_xticks()) <= 26


@pytest.mark.parametrize("draw", [hinton, partial(heat_map, unit="nats")])
def test_all_zero_and_all_unknown_matrices_can_be_drawn(draw: Callable[..., Figure]) -> None:
    for matrix in (np.zeros((2, 2)), np.full((2, 2), np.nan)):
        assert pixels(draw(matrix, NAMES)).std() > 0


@pytest.mark.parametrize("draw", [hinton, partial(heat_map, unit="nats")])
@pytest.mark.parametrize(
    ("matrix", "message"),
    [(np.ones((3, 3)), "2 names for 3 factors"), (np.ones((0, 2)), "nothing to draw")],
)
def test_matrices_that_do_not_fit_are_refused(
    draw: Callable[..., Figure], matrix: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        draw(matrix, NAMES)


def test_the_sheet_shows_every_score_and_what_is_known() -> None:
    values = {"mig": 0.5, "tc": 3.25, "units": 4.0, "unknown": float("nan")}
    intervals = {"mig": (0.4, 0.61), "tc": (3.0, 3.5)}
    figure = score_sheet(values, intervals, NAMES, MATRIX, None, np.array([0.001, 2.0, 1.0]), "t")
    scores, importance, kl = (axes for axes in figure.axes if axes.axison)
    assert [text.get_text() for text in scores.get_yticklabels()] == list(values)
    texts = [text.get_text() for text in scores.texts]
    assert texts == ["0.500  [0.400, 0.610]", "3.250  [3.000, 3.500]", "4", "nan"]
    drawn = [np.asarray(line.get_xdata(), dtype=float).tolist() for line in scores.lines]
    assert drawn == [[0.4, 0.61], [0.5]]
    assert importance.get_title(loc="left") == "importance for predicting a factor"
    assert [bar.get_height() for bar in kl.patches] == [0.001, 2.0, 1.0]  # type: ignore[attr-defined]
    assert kl.patches[0].get_facecolor() != kl.patches[1].get_facecolor()
    assert pixels(figure).std() > 0


def test_a_sheet_needs_a_score_only() -> None:
    assert pixels(score_sheet({"mig": 0.5}, {}, ["a"])).std() > 0
    with pytest.raises(InputError, match="at least one score"):
        score_sheet({}, {}, ["a"])


@pytest.mark.slow
def test_the_sheet_of_an_evaluation_finds_its_parts_and_leaves_no_figure_open() -> None:
    generator = np.random.default_rng(0)
    factors = generator.integers(3, size=(90, 2))
    codes = factors + 0.1 * generator.normal(size=(90, 2))
    opened = plt.get_fignums()
    figure = sheet(evaluate_fully(codes, factors, ["MIG", "DCI"], names=["p", "q"]), "all of it")
    titles = {axes.get_title(loc="left") for axes in figure.axes}
    assert {
        "scores, and chance as red bars",
        "importance for predicting a factor",
        "mutual information",
    } <= titles
    assert plt.get_fignums() == opened


@pytest.mark.parametrize(
    ("prefix", "title"), [("", "information in the mean"), ("sampled/", "mutual information")]
)
def test_the_sheet_of_a_model_with_posteriors_says_whose_information_it_shows(
    prefix: str, title: str
) -> None:
    generator = np.random.default_rng(0)
    factors = generator.integers(3, size=(90, 2))
    full = evaluate_fully(factors + 0.1 * generator.normal(size=(90, 2)), factors, ["MIG"])
    parts = {f"{prefix}{name}": part for name, part in full.parts.items()}
    figure = sheet(full._replace(parts=parts | {"kl_per_latent": [0.05, 2.0]}))
    assert title in {axes.get_title(loc="left") for axes in figure.axes}


@pytest.mark.slow
def test_a_factor_with_one_value_has_no_row_in_the_sheet() -> None:
    generator = np.random.default_rng(0)
    factors = generator.integers(3, size=(90, 3)) * (1, 0, 1)
    codes = factors + 0.1 * generator.normal(size=(90, 3))
    with pytest.warns(ConstantFactorWarning):
        full = evaluate_fully(codes, factors, ["MIG", "DCI"], names=["p", "q", "r"])
    rows = [[label.get_text() for label in axes.get_yticklabels()] for axes in sheet(full).axes]
    assert rows.count(["p", "r"]) == 2
    assert np.shape(full.parts["mutual_information"]) == (3, 3)
