"""Unfairness with known answers, and its mistakes."""

from functools import partial
from typing import Any, final

import numpy as np
import numpy.typing as npt
import pytest
from torch import Tensor

from dislab.base import Predictor
from dislab.errors import InputError
from dislab.predictors import GradientBoosting
from dislab_downstream import of_arrays, total_variation, unfairness
from dislab_downstream.fairness import _intervened

SIZES = (4, 3, 5, 6)
GRID = np.stack([column.ravel() for column in np.indices(SIZES)], 1)

SHORT = partial(GradientBoosting, rounds=20)


@final
class Copy(Predictor):
    """Predicts the first code."""

    def __init__(self, latent_dim: int, classes: tuple[int, ...]) -> None:
        self.classes = classes

    def fit(self, codes: Tensor, targets: Tensor) -> None:
        """Learns nothing."""

    def predict(self, codes: Tensor) -> Tensor:
        """The first code, for every factor."""
        return codes[..., :1].expand(-1, -1, len(self.classes))


def codes_of(factors: npt.NDArray[Any], noise: float = 0.0) -> npt.NDArray[Any]:
    rng = np.random.default_rng(0)
    return factors + noise * rng.normal(size=factors.shape)


def test_total_variation_by_hand() -> None:
    # p(ŷ = 1) is 1/4 and 3/4 under the two interventions, and 1/2 in the mean
    assert total_variation(np.array([[0, 0, 0, 1], [1, 1, 1, 0]])) == 0.25
    assert total_variation(np.array([[7, 7], [7, 7], [7, 7]])) == 0


def test_the_seed_draws_the_images_of_an_intervention() -> None:
    """The same ones for every value, all other factors equal."""
    space = of_arrays(GRID.astype(float), GRID).space
    first, again, other = (_intervened(space, 2, 20, seed) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    positions = space.positions(first)
    assert first.shape == (5, 20)
    assert (positions[..., 2] == np.arange(5)[:, None]).all()
    assert (np.delete(positions, 2, 2) == np.delete(positions[:1], 2, 2)).all()


@pytest.mark.parametrize("count", [2, 3, 10])
def test_a_prediction_that_copies_the_sensitive_factor(count: int) -> None:
    copies = np.repeat(np.arange(count)[:, None], 20, 1)
    assert total_variation(copies) == pytest.approx(1 - 1 / count)


def test_a_code_that_copies_a_uniform_sensitive_factor() -> None:
    observations = of_arrays(codes_of(GRID[:, 2:3]), GRID)
    result = unfairness(observations, ["factor_0"], ["factor_2"], predictor=Copy)
    assert result.pairs == {("factor_0", "factor_2"): pytest.approx(1 - 1 / 5)}


def test_disentangled_codes_are_fair_and_accurate() -> None:
    result = unfairness(of_arrays(codes_of(GRID), GRID), train=240, predictor=SHORT)
    assert len(result.pairs) == 12
    assert result.mean == pytest.approx(0, abs=1e-12)
    assert result.accuracy == 1


def test_rotated_codes_are_less_fair() -> None:
    rotation, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))
    result = unfairness(of_arrays(codes_of(GRID) @ rotation, GRID), train=240, predictor=SHORT)
    assert result.mean > 0.02


def test_a_constant_prediction_is_fair() -> None:
    result = unfairness(of_arrays(np.zeros((len(GRID), 1)), GRID), train=240, predictor=SHORT)
    assert result.mean == pytest.approx(0, abs=1e-12)
    assert result.accuracy < 0.5


def test_the_seed_decides() -> None:
    observations = of_arrays(codes_of(GRID, 2.0), GRID)
    first, again, other = (
        unfairness(observations, train=50, test=20, predictor=SHORT, seed=seed)
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_images_without_all_combinations_are_left_out() -> None:
    kept = (GRID[:, 3] != 5) | (GRID[:, 0] == 0)
    factors = GRID[kept]
    result = unfairness(
        of_arrays(codes_of(factors), factors), [], ["factor_3"], train=150, predictor=SHORT
    )
    assert result.mean == pytest.approx(0, abs=1e-12)  # of the images whose first factor is 0
    diagonal = np.repeat(np.arange(30)[:, None], 2, 1)
    with pytest.raises(InputError, match=r"only 0 images exist with every value of .* factor_0 "):
        unfairness(of_arrays(codes_of(diagonal), diagonal))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sensitive": ["constant"]}, "the sensitive factor constant has a single value"),
        ({"targets": ["constant"]}, "the target factor constant has a single value"),
        ({"sensitive": ["colour"]}, "no factor is named 'colour'"),
        ({"targets": ["colour"]}, "no factor is named 'colour'"),
        ({"targets": ["a"], "sensitive": ["a"]}, "there is no pair of a target"),
        ({"targets": ["many"]}, "the target factor many has 240 values; the most is 100"),
        ({"sensitive": ["many"]}, "the sensitive factor many has 240 values"),
        ({"train": 9}, "train is 9; it must be a whole number of at least 10"),
        ({"test": 0}, "test is 0"),
    ],
)
def test_mistakes(settings: Any, message: str) -> None:
    rows = GRID[:240]
    factors = np.concatenate([rows[:, 1:3], rows[:, :1] * 0, np.arange(240)[:, None]], 1)
    observations = of_arrays(codes_of(factors), factors, ["a", "b", "constant", "many"])
    with pytest.raises(InputError, match=message):
        unfairness(observations, **settings)


@pytest.mark.parametrize(
    ("codes", "factors", "names", "message"),
    [
        (np.zeros(5), np.zeros((5, 1), int), (), "codes have shape"),
        (np.zeros((4, 1)), np.zeros((5, 1), int), (), "of the same images"),
        (np.full((5, 1), np.nan), np.zeros((5, 1), int), (), "codes must be finite"),
        (np.full((5, 1), "a"), np.zeros((5, 1), int), (), "codes must be finite real numbers"),
        (np.zeros((5, 1)), np.zeros((5, 1)), (), "factors must be whole numbers, not float64"),
        (np.zeros((5, 1)), np.zeros((5, 1), int), ("a", "b"), "2 names for 1 factor:"),
        (np.zeros((0, 1)), np.zeros((0, 1), int), (), "at least one"),
    ],
)
def test_arrays_that_fit_nothing(codes: Any, factors: Any, names: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        of_arrays(codes, factors, names)


def test_too_few_images() -> None:
    with pytest.raises(InputError, match="there are 12 images with different factors; 20 are"):
        unfairness(of_arrays(np.zeros((12, 1)), GRID[:12]))
    with pytest.raises(InputError, match="predictions have shape"):
        total_variation(np.zeros((1, 5), int))
