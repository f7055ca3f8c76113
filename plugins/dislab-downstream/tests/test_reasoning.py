"""Matrices without repeated answers, the relation network, and tasks with known answers."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from dislab.errors import InputError
from dislab_downstream import RelationNetwork, draw_matrices, of_arrays, reasoning

SIZES = (4, 4, 4)
GRID = np.stack([column.ravel() for column in np.indices(SIZES)], 1)


def repeated(answers: Any) -> float:
    """Share of matrices in which two answers are equal."""
    return float(np.mean([len(np.unique(rows, axis=0)) < len(rows) for rows in answers]))


@pytest.mark.parametrize("answers", ["easy", "hard"])
@pytest.mark.parametrize("sizes", [(3, 3, 3), (6,), (4, 5, 3, 10)])
def test_rules_of_the_matrices(sizes: Any, answers: Any) -> None:
    matrices = draw_matrices(sizes, 500, 0, answers)
    rows = np.arange(500)
    for matrix, right, constant in zip(*matrices, strict=True):
        full = np.concatenate([matrix[:8], matrix[8 + right : 9 + right]]).reshape(3, 3, -1)
        assert (full[..., constant] == full[:, :1, constant]).all()
        for column in np.flatnonzero(~constant):
            counts = [len(set(full[row, :, column])) for row in (0, 1)]
            assert counts not in ([1, 1], [3, 3])
        fits = (matrix[8:, constant] == full[2, 0, constant]).all(1)
        assert np.flatnonzero(fits).tolist() == [right]
    assert repeated(matrices.panels[:, 8:]) == 0
    assert (matrices.panels < np.array(sizes)).all()
    assert set(matrices.constant.sum(1)) == set(range(1, min(3, len(sizes)) + 1))
    assert len(set(matrices.right[rows])) == 6
    same = draw_matrices(sizes, 500, 0, answers)
    assert all(np.array_equal(*pair) for pair in zip(matrices, same, strict=True))


def test_answers_are_drawn_again_where_a_simple_sampler_repeats_them() -> None:
    # wrong answers that only have to break the rule, as in disentanglement_lib's easy sampler
    rng = np.random.default_rng(0)
    wrong = [panel for panel in product(range(3), repeat=2) if panel[0] != 0]
    simple = [[wrong[lot] for lot in rng.integers(len(wrong), size=5)] for _ in range(500)]
    assert repeated(simple) > 0.9
    assert repeated(draw_matrices((3, 3), 500).panels[:, 8:]) == 0


@pytest.mark.parametrize(
    ("sizes", "answers", "message"),
    [
        ((4, 2), "easy", "factor 1 has fewer than 3 values"),
        ((), "easy", "no factor varies"),
        ((5,), "easy", "allow only 4 different wrong answers"),
        ((3, 3), "hard", "allow only 4 different wrong answers"),
    ],
)
def test_spaces_without_matrices_are_refused(sizes: Any, answers: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw_matrices(sizes, 10, 0, answers)


def test_the_network_sums_over_all_pairs_of_panels() -> None:
    torch.manual_seed(0)
    network = RelationNetwork(5)
    panels = torch.randn(2, 14, 5)
    logits = network(panels)
    for answer in range(6):
        nodes = torch.cat([panels[:, :8], panels[:, 8 + answer : 9 + answer]], 1)
        nodes = torch.cat([nodes, torch.eye(9).expand(2, 9, 9)], 2)
        pairs = [torch.cat([nodes[:, i], nodes[:, j]], 1) for i, j in product(range(9), repeat=2)]
        total = torch.stack([network.edge(network.pair(pair).relu()) for pair in pairs]).sum(0)
        torch.testing.assert_close(logits[:, answer], network.graph(total)[:, 0])


@pytest.mark.slow
def test_true_factors_are_learnt_and_random_codes_stay_at_chance() -> None:
    positions = np.stack([column.ravel() for column in np.indices((4,) * 5)], 1)
    settings: Any = {"samples": [1000], "test": 600, "steps": 250}
    factors = of_arrays(positions.astype(float), positions)
    assert reasoning(factors, source="factors", **settings)[1000] > 0.3
    noise = np.random.default_rng(0).normal(size=(len(positions), 5))
    chance = reasoning(of_arrays(noise, positions), **settings)[1000]
    assert chance == pytest.approx(1 / 6, abs=0.05)


@pytest.mark.slow
def test_pixels_that_show_the_factors_are_learnt() -> None:
    observations = of_arrays(np.zeros((len(GRID), 1)), GRID)

    def images(states: Any) -> Any:
        """A square for each factor, farther to the right the larger its value."""
        positions = observations.space.positions(states)
        pixels = np.zeros((len(states), 1, 16, 16), np.float32)
        for column, value in product(range(3), range(4)):
            rows = positions[:, column] == value
            pixels[rows, 0, 5 * column : 5 * column + 5, 4 * value : 4 * value + 4] = 1
        return pixels

    settings: Any = {"samples": [2000], "test": 600, "steps": 250}
    shown = observations._replace(images=images)
    assert reasoning(shown, source="pixels", **settings)[2000] > 0.4


def test_accuracy_is_that_of_other_matrices() -> None:
    """A network that knows forty matrices by heart guesses on forty others."""
    noise = np.random.default_rng(0).normal(size=GRID.shape)
    assert reasoning(of_arrays(noise, GRID), [40], test=40, steps=150)[40] < 0.5


def test_the_seed_decides() -> None:
    observations = of_arrays(GRID.astype(float), GRID)
    settings: Any = {"samples": [50, 20], "test": 100, "steps": 5}
    first, again, other = (reasoning(observations, seed=seed, **settings) for seed in (0, 0, 1))
    assert list(first) == [20, 50]
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "small has fewer than 3 values, .* give the factors that take part without it"),
        ({"factors": ["a", "colour"]}, "no factor is named 'colour'"),
        ({"factors": ["one"]}, "one has fewer than 3 values"),
        ({"factors": ["a", "b"], "samples": []}, "samples is empty"),
        ({"factors": ["a", "b"], "samples": [0]}, "samples is 0"),
        ({"factors": ["a", "b"], "source": "pixels"}, "there are no images, only codes"),
        ({"factors": ["a", "b"], "values": 2}, "values is 2"),
        ({"factors": ["a", "b"], "steps": 0}, "steps is 0"),
    ],
)
def test_mistakes_before_training(settings: Any, message: str) -> None:
    factors = np.concatenate([GRID[:, :2], GRID[:, :1] * 0, GRID[:, 2:] // 2], 1)
    observations = of_arrays(factors.astype(float), factors, ["a", "b", "one", "small"])
    with pytest.raises(InputError, match=message):
        reasoning(observations, **settings)


def test_missing_combinations_are_refused_before_training() -> None:
    kept = GRID[GRID.sum(1) > 1]
    with pytest.raises(InputError, match=r"\d+% of the panels are combinations .* no image"):
        reasoning(of_arrays(kept.astype(float), kept))
