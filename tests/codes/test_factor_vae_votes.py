"""Votes of the FactorVAE score, against a loop and by hand."""

import numpy as np
import pytest
import torch
from torch import Tensor

from dislab.codes import factor_vae_votes
from dislab.codes.factor_vae_votes import Ballot, count_votes, draw_ballot, vote_accuracy
from dislab.errors import InputError
from dislab.functional.random import host_generator

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
    monkeypatch.setattr(factor_vae_votes, "VOTES_AT_ONCE", 37)
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
