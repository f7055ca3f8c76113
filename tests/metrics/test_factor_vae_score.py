"""The FactorVAE score."""

from typing import Any

import pytest
import torch
from torch import Tensor

from dislab.codes.bank import ConstantFactorWarning
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.metrics import FactorVAEScore

SIZES = (3, 6, 8, 8)
SPACE = FactorSpace(
    tuple(
        Factor(name, tuple(map(float, range(size))))
        for name, size in zip("abcd", SIZES, strict=True)
    )
)


def draw_factors(images: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    columns = [torch.randint(size, (images,), generator=generator) for size in SIZES]
    return torch.stack(columns, dim=1)


def score(codes: Tensor, factors: Tensor, votes: int = 2000, seed: int = 0) -> dict[str, Tensor]:
    metric = FactorVAEScore(SPACE, votes_train=votes, votes_test=votes // 2, seed=seed)
    metric.update(codes, factors)
    return metric.compute()


def test_perfect_codes_score_one() -> None:
    factors = draw_factors(3000)
    result = score(torch.cat([factors, torch.randn(3000, 2)], dim=1), factors)
    assert result["factor_vae_score"].item() == 1.0
    assert result["factor_vae_score_train"].item() == 1.0
    assert result["num_active"].item() == 6
    votes = result["factor_vae_votes"]
    assert votes.sum().item() == 2000
    assert (votes[:4].diagonal() == votes.sum(0)).all()


def test_noise_scores_near_chance() -> None:
    result = score(torch.randn(5000, 6), draw_factors(5000), votes=10_000)
    assert result["factor_vae_score"].item() == pytest.approx(1 / 4, abs=0.04)


def test_idle_latents_are_pruned_and_counted() -> None:
    factors = draw_factors(2000)
    weak = 0.04 * torch.randn(2000, 1)
    codes = torch.cat([torch.zeros(2000, 1), factors, weak], dim=1)
    result = score(codes, factors)
    assert result["num_active"].item() == 4
    assert result["factor_vae_votes"][[0, 5]].sum().item() == 0
    assert result["factor_vae_score"].item() == 1.0
    all_idle = score(torch.full((2000, 3), 2.0), factors)
    assert all_idle["num_active"].item() == 0
    assert all_idle["factor_vae_score"].item() == 0.0
    assert all_idle["factor_vae_score_train"].item() == 0.0
    assert all_idle["factor_vae_votes"].shape == (3, 4)


def test_a_latent_that_never_changes_gets_no_vote_without_a_threshold() -> None:
    factors = draw_factors(1000)
    metric = FactorVAEScore(SPACE, votes_train=500, votes_test=500, threshold=0.0)
    metric.update(torch.cat([torch.ones(1000, 1), 1e-3 * factors], dim=1), factors)
    result = metric.compute()
    assert result["num_active"].item() == 4
    assert result["factor_vae_score"].item() == 1.0


def test_the_threshold_is_met_by_equality() -> None:
    factors = draw_factors(1000)
    latent = torch.arange(1000).remainder(2)[:, None].double()
    spread = latent.std().item()
    for threshold, active in ((spread, 1), (spread * 1.001, 0)):
        metric = FactorVAEScore(SPACE, votes_train=10, votes_test=10, threshold=threshold)
        metric.update(latent, factors)
        assert metric.compute()["num_active"].item() == active


def test_order_and_units_of_latents_do_not_matter() -> None:
    factors = draw_factors(2000)
    codes = factors.double() @ torch.randn(4, 5).double() + torch.randn(2000, 5)
    plain = score(codes, factors)
    order = torch.randperm(5)
    units = torch.tensor([1, 2, 4, 8, 16]).double()
    changed = score(codes[:, order] * units, factors)
    assert torch.equal(changed["factor_vae_votes"], plain["factor_vae_votes"][order])
    assert torch.equal(changed["factor_vae_score"], plain["factor_vae_score"])


def test_the_seed_decides_the_votes() -> None:
    factors, codes = draw_factors(500), torch.randn(500, 3)
    one, two, three = (score(codes, factors, 200, seed) for seed in (0, 0, 1))
    assert torch.equal(one["factor_vae_votes"], two["factor_vae_votes"])
    assert not torch.equal(one["factor_vae_votes"], three["factor_vae_votes"])


def test_incomplete_and_correlated_images_are_fine() -> None:
    factors = draw_factors(4000)
    factors = factors[(factors[:, 2] - factors[:, 3]).abs() <= 4]
    assert score(factors.float(), factors)["factor_vae_score"].item() == 1.0


def test_factors_that_never_vary_are_never_held() -> None:
    factors = draw_factors(1000)
    factors[:, 1] = 2
    with pytest.warns(ConstantFactorWarning, match="b took one value only"):
        result = score(factors.float(), factors)
    assert result["factor_vae_votes"][:, 1].sum().item() == 0
    assert result["num_active"].item() == 3
    assert result["factor_vae_score"].item() == 1.0


@pytest.mark.parametrize(
    ("setting", "least"),
    [("votes_train", 1), ("votes_test", 1), ("samples", 2), ("threshold", 0.0)],
)
def test_bad_settings_are_named(setting: str, least: float) -> None:
    settings: dict[str, Any] = {setting: least - 1}
    with pytest.raises(InputError, match=f"{setting} is {least - 1}; it must.*at least {least:g}"):
        FactorVAEScore(SPACE, **settings)
