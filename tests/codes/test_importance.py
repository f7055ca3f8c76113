"""Disentanglement and completeness, worked by hand."""

import math

import pytest
import torch

from dislab.codes.importance import importance_scores
from dislab.errors import InputError

H14 = (0.25 * math.log(4) + 0.75 * math.log(4 / 3)) / math.log(2)
LOG23 = math.log(2) / math.log(3)


@pytest.mark.parametrize(
    ("importance", "per_latent", "per_factor", "disentanglement", "completeness"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0], [1.0, 1.0], 1.0, 1.0),
        ([[0.5, 0.5], [0.5, 0.5]], [0.0, 0.0], [0.0, 0.0], 0.0, 0.0),
        ([[0.0, 0.0], [0.0, 0.0]], [0.0, 0.0], [0.0, 0.0], 0.0, 0.0),
        # One latent does all the work: complete, but entangled.
        ([[1.0, 1.0], [0.0, 0.0]], [0.0, 0.0], [1.0, 1.0], 0.0, 1.0),
        # Rows sum to 4, 1; columns to 2, 3: every weight is visible.
        (
            [[1.0, 3.0], [1.0, 0.0]],
            [1 - H14, 1.0],
            [0.0, 1.0],
            0.8 * (1 - H14) + 0.2,
            0.6,
        ),
        # Two of four factors and two of three latents: half, and less, of the largest entropies.
        (
            [[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
            [0.5, 0.5, 1.0],
            [1 - LOG23, 1.0, 1.0, 1.0],
            0.6,
            0.4 * (1 - LOG23) + 0.6,
        ),
    ],
)
def test_by_hand(
    importance: list[list[float]],
    per_latent: list[float],
    per_factor: list[float],
    disentanglement: float,
    completeness: float,
) -> None:
    scores = importance_scores(torch.tensor(importance, dtype=torch.float64))
    assert scores.per_latent.tolist() == pytest.approx(per_latent, abs=1e-12)
    assert scores.per_factor.tolist() == pytest.approx(per_factor, abs=1e-12)
    assert scores.disentanglement.item() == pytest.approx(disentanglement, abs=1e-12)
    assert scores.completeness.item() == pytest.approx(completeness, abs=1e-12)


def test_permutations_and_units_do_not_matter() -> None:
    importance = torch.rand(7, 4, dtype=torch.float64)
    scores = importance_scores(importance)
    rows, columns = torch.randperm(7), torch.randperm(4)
    again = importance_scores(5 * importance[rows][:, columns])
    torch.testing.assert_close(again.disentanglement, scores.disentanglement)
    torch.testing.assert_close(again.completeness, scores.completeness)
    torch.testing.assert_close(again.per_latent, scores.per_latent[rows])
    torch.testing.assert_close(again.per_factor, scores.per_factor[columns])


def test_a_transposed_matrix_swaps_the_scores() -> None:
    importance = torch.rand(5, 5, dtype=torch.float64)
    scores, swapped = importance_scores(importance), importance_scores(importance.T)
    torch.testing.assert_close(scores.disentanglement, swapped.completeness)
    torch.testing.assert_close(scores.completeness, swapped.disentanglement)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1, 3), "got 1 latent and 3 factors"),
        ((3, 1), "got 3 latents and 1 factor$"),
        ((1, 1), "got 1 latent and 1 factor$"),
    ],
)
def test_one_of_either_is_refused(shape: tuple[int, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        importance_scores(torch.ones(shape))


@pytest.mark.parametrize("value", [-0.1, math.nan])
def test_importances_are_not_negative(value: float) -> None:
    with pytest.raises(InputError, match="at least 0"):
        importance_scores(torch.tensor([[1.0, value], [0.0, 1.0]]))
