"""The FactorVAE score."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from dislab.codes.bank import ConstantFactorWarning
from dislab.errors import InputError
from dislab.factors import Factor, FactorSpace
from dislab.functional.random import host_generator
from dislab.metrics import FactorVAEScore, factor_vae_score
from dislab.metrics.factor_vae_score import Ballot, count_votes, draw_ballot, vote_accuracy

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


def test_the_majority_of_training_votes_judges_votes_drawn_apart() -> None:
    metric = FactorVAEScore(SPACE, votes_train=60, votes_test=40, seed=4)
    codes = torch.randn(500, 3, generator=torch.Generator().manual_seed(0)).double()
    factors = draw_factors(500)
    metric.update(codes, factors)
    result = metric.compute()
    everything = torch.ones(4, dtype=torch.bool)
    train, test = (
        count_votes(
            codes,
            everything[:3],
            draw_ballot(factors, everything, votes, 64, host_generator(4, part), SPACE.names),
            4,
        )
        for part, votes in enumerate((60, 40))
    )
    assert result["factor_vae_score"] == vote_accuracy(train, test)
    assert result["factor_vae_score_train"] == vote_accuracy(train, train)
    assert vote_accuracy(train, test) < vote_accuracy(test, test)


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


NAMES = ("a", "b", "c")
ALL = torch.ones(3, dtype=torch.bool)


def random_factors(images: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    columns = [torch.randint(size, (images,), generator=generator) for size in (3, 5, 7)]
    return torch.stack(columns, dim=1)


def test_all_images_of_a_vote_share_the_held_value_and_nothing_else() -> None:
    factors = random_factors(400)
    ballot = draw_ballot(factors, ALL, 300, 40, host_generator(0), NAMES)
    drawn = factors[ballot.rows]
    spread = (drawn != drawn[:, :1]).any(1)
    held = torch.nn.functional.one_hot(ballot.factor, 3).bool()
    assert not spread[held].any()
    assert spread[~held].all()


def test_factors_are_drawn_uniformly_and_values_as_they_occur() -> None:
    factors = torch.tensor([0] * 60 + [1] * 30 + [2] * 10)[:, None].expand(100, 2).contiguous()
    ballot = draw_ballot(factors, torch.tensor([True, True]), 20_000, 2, host_generator(1), NAMES)
    assert ballot.factor.double().mean().item() == pytest.approx(0.5, abs=0.015)
    value = factors[ballot.rows[:, 0], 0]
    shares = value.bincount().double() / len(value)
    assert shares.tolist() == pytest.approx([0.6, 0.3, 0.1], abs=0.015)
    rows = ballot.rows.flatten().bincount(minlength=100).double() / ballot.rows.numel()
    assert (rows - 0.01).abs().max() < 0.002


def test_factors_that_never_vary_and_lonely_values_are_not_held() -> None:
    factors = torch.tensor([[0, 4, 0], [0, 1, 1], [0, 1, 1], [0, 2, 0]])
    ballot = draw_ballot(
        factors, torch.tensor([False, True, True]), 500, 8, host_generator(2), NAMES
    )
    assert set(ballot.factor.tolist()) == {1, 2}
    assert set(ballot.rows[ballot.factor == 1].flatten().tolist()) == {1, 2}


def test_a_factor_with_no_shared_value_is_refused() -> None:
    with pytest.raises(InputError, match="no two images share a value of factor b,"):
        draw_ballot(
            torch.tensor([[0, 0, 0], [0, 1, 0], [1, 2, 1], [1, 3, 1]]),
            ALL,
            50,
            4,
            host_generator(0),
            NAMES,
        )


def test_ballots_repeat_by_seed() -> None:
    factors = random_factors(100)
    one, two, three = (
        draw_ballot(factors, ALL, 20, 6, host_generator(s), NAMES) for s in (5, 5, 6)
    )
    assert torch.equal(one.rows, two.rows)
    assert not torch.equal(one.rows, three.rows)


def test_votes_by_hand() -> None:
    # Vote 0 sees one image thrice: all variances are 0. Vote 1 has variances 1/3 and 4/3 over
    # 5/3 and 20/3. Both are ties, which go to the first latent that may get votes.
    codes = torch.tensor([[0.0, 0.0], [1.0, 2.0], [2.0, 6.0], [3.0, 4.0]], dtype=torch.float64)
    codes = torch.cat([codes, codes[:, 1:] + 1], dim=1)
    ballot = Ballot(torch.tensor([2, 0]), torch.tensor([[1, 1, 1], [0, 1, 0]]))
    assert count_votes(codes, ALL, ballot, 3).tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 0]]
    pruned = torch.tensor([False, False, True])
    assert count_votes(codes, pruned, ballot, 3).tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 1]]


@pytest.mark.parametrize("pruned", [[], [0], [1, 3]])
def test_votes_equal_those_of_a_loop(pruned: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factor_vae_score, "VOTES_AT_ONCE", 37)
    factors = random_factors(300)
    codes = factors.double() @ torch.randn(3, 5, dtype=torch.float64)
    codes = codes * torch.tensor([1, 10, 0.1, 3, 1]) + torch.randn(300, 5, dtype=torch.float64)
    active = torch.ones(5, dtype=torch.bool)
    active[pruned] = False
    ballot = draw_ballot(factors, ALL, 200, 16, host_generator(3), NAMES)

    expected = np.zeros((5, 3), dtype=np.int64)
    array, kept = codes.numpy(), np.flatnonzero(active.numpy())
    whole = np.var(array, axis=0, ddof=1)
    for factor, rows in zip(ballot.factor.tolist(), ballot.rows.numpy(), strict=True):
        ratio = np.var(array[rows], axis=0, ddof=1)[kept] / whole[kept]
        expected[kept[np.argmin(ratio)], factor] += 1
    assert (count_votes(codes, active, ballot, 3).numpy() == expected).all()


def test_accuracy_by_hand() -> None:
    train = torch.tensor([[5, 1], [2, 2], [0, 0]])
    assert vote_accuracy(train, train).item() == pytest.approx(0.7)
    test = torch.tensor([[1, 3], [0, 2], [4, 0]])
    assert vote_accuracy(train, test).item() == pytest.approx(0.5)
