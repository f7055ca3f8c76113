import pytest
import torch

from dislab.errors import InputError
from dislab.predictors import Ridge


def test_the_weights_are_those_of_the_normal_equations() -> None:
    source = torch.Generator().manual_seed(0)
    codes = torch.randn(1, 50, 3, generator=source, dtype=torch.float64)
    codes = (codes - codes.mean(1, keepdim=True)) / codes.std(1, correction=0, keepdim=True)
    targets = torch.rand(50, 2, generator=source, dtype=torch.float64)
    ridge = Ridge(3, (0, 0), penalty=2.0)
    ridge.fit(codes, targets)
    x = torch.cat([codes[0], torch.ones(50, 1, dtype=torch.float64)], 1)
    penalty = torch.diag(torch.tensor([2.0, 2.0, 2.0, 0.0], dtype=torch.float64))
    expected = x @ torch.linalg.solve(x.T @ x + penalty, x.T @ targets)
    assert torch.allclose(ridge.predict(codes)[0], expected, atol=1e-12)


def test_linear_codes_are_predicted_exactly_beyond_what_was_seen() -> None:
    values = torch.linspace(0, 1, 40)[:, None]
    codes = torch.cat([3 - 2 * values, torch.full_like(values, 7.0)], 1)[None]
    ridge = Ridge(2, (0,), penalty=0.0)
    ridge.fit(codes[:, :20], values[:20])
    assert torch.allclose(ridge.predict(codes)[0], values, atol=1e-5)


def test_kinds_are_told_apart_and_runs_do_not_mix() -> None:
    kinds = torch.arange(60) % 3
    codes = torch.nn.functional.one_hot(kinds, 3).float()
    both = torch.stack([codes, torch.randn(60, 3, generator=torch.Generator().manual_seed(1))])
    targets = torch.stack([kinds.float(), kinds.float() / 2], 1)
    together = Ridge(3, (3, 0))
    together.fit(both, targets)
    assert torch.equal(together.predict(both)[0, :, 0], kinds.float())
    alone = Ridge(3, (3, 0))
    alone.fit(both[1:], targets)
    assert torch.allclose(alone.predict(both[1:])[0], together.predict(both)[1], atol=1e-6)


def test_a_negative_penalty_is_refused() -> None:
    with pytest.raises(InputError, match="penalty"):
        Ridge(3, (0,), penalty=-1.0)


def test_a_latent_that_stood_still_says_nothing_wherever_it_goes() -> None:
    values = torch.linspace(0, 1, 40)[:, None]
    # the mean of many 0.1 is not 0.1 exactly: their spread is rounding, not a scale
    codes = torch.cat([values, torch.full_like(values, 0.1)], 1)[None]
    ridge = Ridge(2, (0,), penalty=0.0)
    ridge.fit(codes, values)
    moved = torch.tensor([[[0.5, 900.0]]])
    assert abs(ridge.predict(moved).item() - 0.5) < 1e-5


def test_a_class_that_no_image_has_never_wins() -> None:
    kinds = torch.arange(60) % 2 * 3
    codes = torch.randn(1, 60, 3, generator=torch.Generator().manual_seed(0))
    ridge = Ridge(3, (5,))
    ridge.fit(codes, kinds[:, None].float())
    assert set(torch.unique(ridge.predict(100 * codes)).tolist()) <= {0.0, 3.0}


def test_misuse_is_named() -> None:
    with pytest.raises(InputError, match="call fit"):
        Ridge(3, (0,)).predict(torch.zeros(1, 2, 3))
    with pytest.raises(InputError, match="3 latents"):
        Ridge(3, (0,)).fit(torch.zeros(1, 2, 4), torch.zeros(2, 1))
