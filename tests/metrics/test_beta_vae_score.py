"""The score of the β-VAE paper."""

from typing import Any

import pytest
import torch

from dislab.errors import InputError
from dislab.metrics import BetaVAEScore


def score(codes: torch.Tensor, graded: Any, **settings: int) -> float:
    metric = BetaVAEScore(graded.space, points_train=1000, points_test=800, **settings)
    metric.update(codes, graded.factors)
    return float(metric.compute()["beta_vae_score"])


def test_perfect_and_rotated_codes(graded: Any) -> None:
    assert score(graded.factors.double(), graded) == 1.0
    rotation = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(0)))[0]
    # a linear classifier sees through rotations in part
    assert 0.5 < score(graded.factors.double() @ rotation.double(), graded) <= 1.0


def test_codes_that_tell_nothing_score_the_most_frequent_factor(graded: Any) -> None:
    assert score(torch.ones(450, 2), graded) == pytest.approx(1 / 3, abs=0.05)


def test_more_pairs_average_the_noise_away(graded: Any) -> None:
    codes = graded.factors + 2 * torch.randn(
        450, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    assert score(codes, graded, pairs=64) > score(codes, graded, pairs=1) + 0.1


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
