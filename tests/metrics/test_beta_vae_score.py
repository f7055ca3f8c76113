"""The score of the β-VAE paper."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from dislab.errors import InputError
from dislab.functional.random import host_generator
from dislab.metrics import BetaVAEScore, FactorVAEScore, evaluate
from dislab.metrics.beta_vae_score import PairDraw, draw_pairs, mean_differences


def score(codes: torch.Tensor, graded: Any, **settings: int) -> float:
    metric = BetaVAEScore(graded.space, points_train=1000, points_test=800, **settings)
    metric.update(codes, graded.factors)
    return float(metric.compute()["beta_vae_score"])


def test_perfect_and_rotated_codes(graded: Any) -> None:
    assert score(graded.factors.double(), graded) == 1.0
    rotation = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(0)))[0]
    # a linear classifier sees through rotations in part
    assert 0.5 < score(graded.factors.double() @ rotation.double(), graded) <= 1.0


@pytest.mark.parametrize("missing", range(4))
def test_it_does_not_see_a_missing_factor_but_the_factor_vae_score_does(missing: int) -> None:
    """Kim & Mnih (2018), section 4: K - 1 of K factors suffice for an accuracy of 1.

    A classifier takes the missing factor for shared if the differences of no latent are 0. Of the
    votes of the FactorVAE score, those for the missing factor are lost, except by chance.
    """
    factors = np.stack(np.unravel_index(np.arange(360), (3, 4, 5, 6)), axis=1).repeat(4, axis=0)
    codes = np.delete(factors, missing, axis=1).astype(float)
    higgins = partial(BetaVAEScore, points_train=1000, points_test=500)
    votes = partial(FactorVAEScore, votes_train=1000, votes_test=500)
    assert evaluate(codes, factors, [higgins])["beta_vae_score"] == 1.0
    voted = evaluate(codes, factors, [votes])["factor_vae_score"]
    assert 0.65 < voted < 0.85  # 3 of 4 factors
    assert evaluate(factors.astype(float), factors, [votes])["factor_vae_score"] == 1.0


def test_codes_that_tell_nothing_score_the_most_frequent_factor(graded: Any) -> None:
    assert score(torch.ones(450, 2), graded) == pytest.approx(1 / 3, abs=0.05)


def test_more_pairs_average_the_noise_away(graded: Any) -> None:
    codes = graded.factors + 2 * torch.randn(
        450, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    assert score(codes, graded, pairs=64) > score(codes, graded, pairs=1) + 0.1


def test_points_of_the_test_are_drawn_apart_from_those_of_training(graded: Any) -> None:
    codes = torch.randn(450, 3, generator=torch.Generator().manual_seed(0))
    metric = BetaVAEScore(graded.space, points_train=500, points_test=500, pairs=1)
    metric.update(codes, graded.factors)
    result = metric.compute()
    assert result["beta_vae_score"] != result["beta_vae_score_train"]


def test_lonely_images_are_refused(graded: Any) -> None:
    metric = BetaVAEScore(graded.space, points_train=50, points_test=50)
    metric.update(torch.randn(3, 2), torch.tensor([[0, 0, 0], [1, 0, 0], [2, 1, 1]]))
    with pytest.raises(InputError, match="no two images share a value of factor a"):
        metric.compute()


@pytest.mark.parametrize(
    ("setting", "least"), [("points_train", 2), ("points_test", 1), ("pairs", 1)]
)
def test_bad_settings_are_named(setting: str, least: int, graded: Any) -> None:
    settings: dict[str, Any] = {setting: least - 1}
    with pytest.raises(InputError, match=f"{setting} is {least - 1}; it must"):
        BetaVAEScore(graded.space, **settings)


NAMES = ("a", "b")


def random_factors(images: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.stack(
        [torch.randint(size, (images,), generator=generator) for size in (3, 7)], dim=1
    )


def test_pairs_share_their_factor_and_are_two_images() -> None:
    factors = random_factors(200)
    draw = draw_pairs(factors, torch.tensor([True, True]), 400, 9, host_generator(0), NAMES)
    assert draw.rows.shape == (2, 400, 9)
    first, second = factors[draw.rows]
    held = draw.factor[:, None]
    for factor in range(2):
        same = (first[..., factor] == second[..., factor]) | (held != factor)
        assert same.all()
        others = first[..., 1 - factor] == second[..., 1 - factor]
        assert not others[(held == factor).expand_as(others)].all()
    assert (draw.rows[0] != draw.rows[1]).all()
    assert draw.factor.double().mean().item() == pytest.approx(0.5, abs=0.1)


def test_partners_are_drawn_uniformly() -> None:
    factors = torch.tensor([[0, 0]] * 2 + [[1, 1]] * 3)
    draw = draw_pairs(factors, torch.tensor([True, False]), 3000, 4, host_generator(1), NAMES)
    assert (draw.factor == 0).all()
    seen = torch.zeros(5, 5)
    pairs = draw.rows.flatten(1)
    seen.index_put_((pairs[0], pairs[1]), torch.ones(pairs.shape[1]), accumulate=True)
    expected = torch.zeros(5, 5)
    expected[0, 1] = expected[1, 0] = 1 / 5
    expected[2:, 2:] = (1 - torch.eye(3)) / 10
    torch.testing.assert_close(seen / seen.sum(), expected, atol=0.01, rtol=0.0)


def test_lonely_values_are_in_no_pair() -> None:
    factors = torch.tensor([[0, 0], [1, 0], [1, 1], [2, 1]])
    draw = draw_pairs(factors, torch.tensor([True, False]), 50, 3, host_generator(0), NAMES)
    assert set(draw.rows.flatten().tolist()) == {1, 2}
    alone = torch.tensor([[0, 0], [1, 0], [2, 1]])
    with pytest.raises(InputError, match="no two images share a value of factor a,"):
        draw_pairs(alone, torch.tensor([True, False]), 5, 3, host_generator(0), NAMES)


def test_differences_equal_those_of_a_loop() -> None:
    codes = torch.randn(50, 3, dtype=torch.float64)
    draw = draw_pairs(
        random_factors(50), torch.tensor([True, True]), 130, 5, host_generator(2), NAMES
    )
    expected = torch.stack(
        [
            (codes[draw.rows[0, point]] - codes[draw.rows[1, point]]).abs().mean(0)
            for point in range(130)
        ]
    )
    torch.testing.assert_close(mean_differences(codes, draw), expected)


def test_differences_by_hand() -> None:
    codes = torch.tensor([[0.0, 1.0], [2.0, -1.0], [3.0, 1.0]], dtype=torch.float64)
    draw = PairDraw(torch.tensor([0]), torch.tensor([[[0, 0]], [[1, 2]]]))
    assert mean_differences(codes, draw).tolist() == [[2.5, 1.0]]
