"""Overlap and multiple encoding scores."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch

from dislab.errors import InputError
from dislab.metrics import OMES, evaluate, evaluate_fully
from dislab.metrics.omes import pair_correlations

pytestmark = pytest.mark.filterwarnings("ignore::dislab.metrics.DoubtfulScoresWarning")


@pytest.mark.slow
def test_correlations_are_those_of_all_pairs_that_differ_in_one_factor(graded: Any) -> None:
    pairs = [
        (first, second)
        for first, second in permutations(range(len(graded.factors)), 2)
        if (graded.factors[first] != graded.factors[second]).tolist() == [False, True, False]
    ]
    left, right = (graded.codes[list(rows)].numpy() for rows in zip(*pairs, strict=True))
    expected = [np.corrcoef(*columns)[0, 1] for columns in zip(left.T, right.T, strict=True)]
    found = pair_correlations(graded.codes, graded.factors, 1)
    assert found is not None
    assert found.tolist() == pytest.approx(expected)


def grid(*sizes: int) -> Any:
    return np.indices(sizes).reshape(len(sizes), -1).T


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_known_answers(pooling: Any) -> None:
    """By hand: a copy of each of two factors costs 1/4 of the multiple encoding score."""
    factors = grid(2, 5)
    for share, copies, merged in ((1.0, 1.0, 0.5), (0.0, 0.75, 1.0)):
        metric = {"omes": lambda space, share=share: OMES(space, share, pooling)}
        codes = {
            "perfect": factors,
            "idle": np.c_[factors, 0.001 * factors.sum(1)],
            "copies": factors.repeat(2, axis=1),
            "copies and idle": np.c_[factors.repeat(2, axis=1), 0.001 * factors.sum(1)],
        }
        scores = {name: evaluate(z, factors, metric)["omes"] for name, z in codes.items()}
        expected = {"perfect": 1.0, "idle": 1.0, "copies": copies, "copies and idle": copies}
        assert scores == pytest.approx(expected)
        noise = np.random.default_rng(0).normal(size=(20_000, 1))
        score = evaluate(noise, factors.repeat(2000, axis=0), metric)["omes"]
        assert score == pytest.approx(merged, abs=0.02)  # one latent that counts as both factors


def test_codes_that_stand_still_score_0() -> None:
    factors = grid(3, 4)
    assert evaluate(np.ones((12, 2)), factors, [OMES])["omes"] == 0


def test_parts_are_associations() -> None:
    factors = grid(3, 4)
    parts = evaluate_fully(factors, factors, [OMES]).parts
    torch.testing.assert_close(
        torch.as_tensor(parts["omes_association"]).double(), torch.eye(2).double()
    )


def test_images_without_pairs_are_refused() -> None:
    factors = np.arange(10)[:, None].repeat(2, axis=1)
    with pytest.raises(InputError, match="no two images differ in factor factor_0 alone"):
        evaluate(factors, factors, [OMES])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"share": 1.5}, r"share is 1.5; it must be from 0 to 1"),
        ({"share": float("nan")}, "share is nan"),
        ({"active": -1.0}, "active is -1.0; it must be a finite number of at least 0"),
        ({"pooling": "median"}, "pooling is 'median'"),
        ({"factor_bins": 1}, "factor_bins is 1"),
    ],
)
def test_settings_out_of_range_are_refused(settings: Any, message: str, graded: Any) -> None:
    with pytest.raises(InputError, match=message):
        OMES(graded.space, **settings)
