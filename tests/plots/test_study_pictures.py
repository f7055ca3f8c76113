"""Pictures of studies: what is drawn is what was given, and every text can be read."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection, PolyCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.text import Text
from scipy.stats import spearmanr

from dislab.errors import InputError
from dislab.plots import (
    correlation_matrix,
    parallel_settings,
    pixels,
    sample_efficiency,
    scatter,
    violins,
)

RNG = np.random.default_rng(0)
LONG = "a long name $of$ a_setting <b>, model.regularizers.total_correlation.gamma="
SCORES = {f"{LONG}{number}": RNG.normal(size=number) for number in range(1, 9)}
GROUPS = [f"_group ${number % 9}" for number in range(90)]
RUNS = RNG.normal(size=(90, 2))
MATRIX = np.asarray(np.corrcoef(RNG.normal(size=(30, 6)), rowvar=False))
NAMES = [f"transfer.OOD2-B.$gradient$_boosting.{number}" for number in range(6)]
SETTINGS: dict[str, list[Any]] = {
    "model.regularizers.total_correlation.gamma": RNG.choice([1, 2, 16], 90).tolist(),
    "supervision": RNG.choice([LONG, "none"], 90).tolist(),
}

PICTURES: dict[str, Callable[[], Figure]] = {
    "violins": lambda: violins(SCORES, "score_$a$", "title", kinds=["_a", "b$"] * 4),
    "violin": lambda: violins({"a": [1.0, 2.0]}, "score"),
    "close numbers": lambda: violins(
        {f"a method {end}": [178.4 + end / 1000] for end in (19, 24, 40)}, "reconstruction (test)"
    ),
    "scatter": lambda: scatter(RUNS[:, 0], RUNS[:, 1], ("a_$b$", "c"), GROUPS, "a $title$"),
    "plain scatter": lambda: scatter(RUNS[:, 0], RUNS[:, 1], ("a", "b")),
    "matrix": lambda: correlation_matrix(MATRIX, NAMES, NAMES, "title"),
    "row": lambda: correlation_matrix(MATRIX[:1, 1:3], ["a"], NAMES[1:3]),
    "column": lambda: correlation_matrix(MATRIX[1:, :1], NAMES[1:], ["a"], "a title, long"),
    "parallel": lambda: parallel_settings(SETTINGS, RUNS[:, 0], "score.dci_disentanglement", "t"),
    "efficiency": lambda: sample_efficiency(
        {name: RNG.random((3, 4)) for name in SCORES}, [10, 100, 1000, 10000], "accuracy", "t"
    ),
}


@pytest.mark.every(4)
@pytest.mark.parametrize("name", PICTURES)
def test_every_text_is_inside_of_the_picture_and_no_two_overlap(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Text] = []
    draw = Text.draw

    def recorded(self: Text, renderer: Any) -> None:
        drawn.append(self)
        draw(self, renderer)

    monkeypatch.setattr(Text, "draw", recorded)
    figure = PICTURES[name]()
    assert pixels(figure).std() > 0
    shown = [text for text in dict.fromkeys(drawn) if text.get_text().strip()]
    assert len(shown) > 1
    boxes = [(text.get_text(), text.get_window_extent()) for text in shown]
    for text, box in boxes:
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1, text
        assert box.y1 <= figure.bbox.y1 + 1, text
    for (one, first), (two, second) in combinations(boxes, 2):
        across = min(first.x1, second.x1) - max(first.x0, second.x0)
        down = min(first.y1, second.y1) - max(first.y0, second.y0)
        assert min(across, down) < 3, f"{one!r} and {two!r}"


def test_a_violin_shows_every_score_their_mean_and_chance_and_counts_missing_ones() -> None:
    scores = {"a": [0.1, 0.4, 0.2, 0.3, 0.9], "b": [0.5, np.nan, 0.5], "c": [np.inf], "d": []}
    axes = violins(scores, "MIG").axes[0]
    points = [one for one in axes.collections if isinstance(one, PathCollection)]
    shown = [np.asarray(one.get_offsets())[:, 0].tolist() for one in points]
    assert shown == [[0.1, 0.4, 0.2, 0.3, 0.9], [0.5, 0.5], [], []]
    means = [np.asarray(line.get_xdata())[0] for line in axes.lines]
    assert means == pytest.approx([0.38, 0.5])
    with_chance = violins(scores, "MIG", chance=0.05).axes[0]
    assert [np.asarray(line.get_xdata())[0] for line in with_chance.lines][-1] == 0.05
    bodies = [one for one in axes.collections if isinstance(one, PolyCollection)]
    (body,) = bodies  # five scores or more, and not all the same
    across = np.asarray(body.get_paths()[0].vertices)[:, 0]
    assert (across.min(), across.max()) == pytest.approx((0.1, 0.9))
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["a", "b (1 missing)", "c (1 missing)", "d"]


def test_groups_of_a_table_can_be_drawn_as_they_are() -> None:
    table = pd.DataFrame({"method": ["a", "a", "b"], "score.mig": [0.1, 0.2, 0.3]})
    groups = {str(name): part for name, part in table.groupby("method")["score.mig"]}
    axes = violins(groups, "MIG").axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert scatter(table["score.mig"], table["score.mig"], ("x", "y"), list(table["method"])).axes
    settings = {str(name): column for name, column in table[["method"]].items()}
    assert parallel_settings(settings, table["score.mig"], "MIG").axes


def test_a_scatter_has_one_point_a_run_and_the_rank_correlation() -> None:
    first, second = RUNS.T.copy()
    first[3] = np.nan
    figure = scatter(first, second, ("a", "b"), GROUPS)
    points = np.concatenate([np.asarray(one.get_offsets()) for one in figure.axes[0].collections])
    known = RUNS[np.arange(90) != 3]
    assert sorted(map(tuple, points)) == sorted(map(tuple, known))
    rho = spearmanr(known).statistic
    assert figure.axes[0].get_title(loc="left") == f"ρ = {rho:.2f}, 89 runs".replace("-", "−")
    own = np.arange(90) % 9 == 0
    expected = f"_group $0\nρ = {spearmanr(RUNS[own]).statistic:.2f}, 10 runs".replace("-", "−")
    assert figure.legends[0].get_texts()[0].get_text() == expected


def test_a_scatter_has_the_given_p() -> None:
    figure = scatter(
        RUNS[:, 0], RUNS[:, 1], ("a", "b"), GROUPS, p={"": 0.0004, "_group $0": 0.0384}
    )
    assert ", p < .001, 90 runs" in figure.axes[0].get_title(loc="left")
    first, second, *_ = figure.legends[0].get_texts()
    assert first.get_text().endswith("\np = .038, 10 runs")
    assert "p =" not in second.get_text()


@pytest.mark.parametrize("first", [[1.0, 2.0], [1.0, 1.0, 1.0], []])
def test_a_scatter_without_a_correlation_says_so(first: list[float]) -> None:
    figure = scatter(first, np.arange(len(first)), ("a", "b"))
    assert figure.axes[0].get_title(loc="left") == f"no ρ, {len(first)} runs"


def test_cells_of_the_matrix_are_the_correlations() -> None:
    matrix = np.array([[1.0, -0.254], [np.nan, -0.001]])
    axes = correlation_matrix(matrix, ["a", "b"], ["c", "d"]).axes[0]
    (cells,) = (one for one in axes.collections if isinstance(one, QuadMesh))
    shown: Any = np.ma.filled(np.ma.asarray(cells.get_array()), np.nan)
    np.testing.assert_array_equal(shown, matrix)
    assert cells.get_clim() == (-1, 1)
    found = {text.get_position(): text.get_text() for text in axes.texts}
    assert found == {(0, 0): "1.00", (1, 0): "−.25", (0, 1): "–", (1, 1): ".00"}


def test_lines_of_settings_start_at_their_value_and_end_at_their_score() -> None:
    settings: dict[str, list[Any]] = {"beta": [16, 2, 2, 16], "method": ["b", "a", "a", "b"]}
    axes = parallel_settings(settings, [0.5, 1.0, 2.0, np.nan], "MIG").axes[0]
    unknown, known = (one for one in axes.collections if isinstance(one, LineCollection))
    paths = [np.asarray(one) for one in known.get_segments()]
    assert [path[0, 0] for path in paths] == [0, 0, 0]
    assert [path[-1].tolist() for path in paths] == [[2, 0], [2, 1 / 3], [2, 1]]
    first = [path[0, 1] for path in paths]
    assert first[0] > 0.5 > first[2] > first[1]  # 16 above 2; equal values by score
    assert [path[np.argmin(abs(path[:, 0] - 1)), 1] < 0.5 for path in paths] == [True, False, False]
    (grey,) = unknown.get_segments()
    assert np.asarray(grey)[-1, 0] == 1
    assert [text.get_text() for text in axes.texts] == ["2", "16", "b", "a"]


def test_curves_are_means_with_a_band_of_one_deviation() -> None:
    curves = {"a": np.array([[0.1, 0.2], [0.3, np.nan], [0.2, 0.8]]), "b": np.array([[0.5, 0.6]])}
    axes = sample_efficiency(curves, [10, 100], "accuracy").axes[0]
    means = [np.asarray(line.get_ydata()) for line in axes.lines]
    np.testing.assert_allclose(means, [[0.2, 0.5], [0.5, 0.6]])
    vertices = np.asarray(axes.collections[0].get_paths()[0].vertices)
    at_ten = vertices[vertices[:, 0] == 10, 1]
    assert (at_ten.min(), at_ten.max()) == pytest.approx((0.1, 0.3))
    assert axes.get_xscale() == "log"


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: violins({}, "a"), "at least one group"),
        (lambda: violins({"a": [1.0]}, "a", kinds=["b", "c"]), "2 kinds for 1 groups"),
        (lambda: violins({"a": ["x"]}, "a"), "a: the values to draw must be numbers"),
        (lambda: scatter([1.0], [1.0, 2.0], ("a", "b")), "1 and 2 scores of 1 runs"),
        (lambda: scatter([1.0], [1.0], ("a", "b"), ["c", "d"]), "of 2 runs"),
        (lambda: correlation_matrix(MATRIX, NAMES, NAMES[:2]), "6 names of rows and 2"),
        (lambda: correlation_matrix(2 * MATRIX, NAMES, NAMES), r"lie in \[-1, 1\]"),
        (lambda: parallel_settings({}, [1.0], "a"), "at least one setting"),
        (lambda: parallel_settings({"b": [1, 2]}, [1.0], "a"), "2 values of b for 1 scores"),
        (lambda: sample_efficiency({"a": np.ones((2, 2))}, [10, 5], "a"), r"sizes are \[10, 5\]"),
        (lambda: sample_efficiency({"a": np.ones((2, 3))}, [5, 10], "a"), r"\(2, 3\) for 2 sizes"),
    ],
)
def test_mistakes_are_explained(draw: Callable[[], Figure], message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw()
