import pytest
import torch

from dislab.functional.gaussians import kl_between, log_density
from dislab.functional.symbols import (
    factor_of_each,
    recombination,
    symbol_negative_log_likelihood,
)

NAMES = ("a=0", "a=1", "b=0", "b=1", "c=0", "c=1")
FACTOR = torch.tensor(factor_of_each(NAMES))


def k_hot(*names: str) -> torch.Tensor:
    return torch.tensor([[float(name in names) for name in NAMES]])


def test_the_divergence_of_two_gaussians_agrees_with_an_integral() -> None:
    mean, log_var = torch.tensor([[0.3]]).double(), torch.tensor([[-0.5]]).double()
    other_mean, other_log_var = torch.tensor([[-1.0]]).double(), torch.tensor([[0.7]]).double()
    z = torch.linspace(-12, 12, 200_001, dtype=torch.float64)
    p, q = log_density(z, mean[0], log_var[0]), log_density(z, other_mean[0], other_log_var[0])
    integral = torch.trapezoid(p.exp() * (p - q), z)
    kl = kl_between(mean, log_var, other_mean, other_log_var)
    torch.testing.assert_close(kl[0, 0], integral, rtol=1e-9, atol=0)


def test_symbols_are_bernoulli_summed_and_averaged() -> None:
    logits = torch.tensor([[0.0, 2.0], [1.0, -1.0]], dtype=torch.float64)
    symbol = torch.tensor([[1.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    p = logits.sigmoid()
    by_hand = -((p[0, 0] * (1 - p[0, 1])).log() + (p[1, 0] * p[1, 1]).log()) / 2
    torch.testing.assert_close(symbol_negative_log_likelihood(logits, symbol), by_hand)


@pytest.mark.parametrize(
    ("operator", "first", "second"),
    [
        (0, k_hot("a=1"), k_hot("b=0")),  # said of a goes left, of b right
        (1, k_hot("a=1", "b=0"), k_hot("a=1", "b=0", "c=1")),
        (2, k_hot("a=1", "b=0", "c=1"), k_hot("c=1")),
    ],
)
def test_concepts_by_hand(operator: int, first: torch.Tensor, second: torch.Tensor) -> None:
    symbol, other = k_hot("a=1", "b=0"), k_hot("a=0", "c=1")
    lot = torch.tensor([[0.1, 0.9, 0.7]])
    made = recombination(symbol, other, FACTOR, lot, torch.tensor([operator]))
    assert torch.equal(made.first, first)
    assert torch.equal(made.second, second)


def test_the_operator_turns_the_concepts_into_the_description() -> None:
    generator = torch.Generator().manual_seed(0)
    value = torch.randint(2, (2, 500, 3), generator=generator)
    named = torch.rand(2, 500, 3, generator=generator) < 0.6
    named[:, :, 0] |= ~named.any(2)
    both = torch.stack(((value == 0) & named, (value == 1) & named), 3).flatten(2).float()
    operator = torch.randint(3, (500,), generator=generator)
    lot = torch.rand(500, 3, generator=generator)
    made = recombination(both[0], both[1], FACTOR, lot, operator)
    results = torch.stack(
        (
            torch.maximum(made.first, made.second),
            made.first * made.second,
            made.first * (1 - made.second),
        )
    )
    rows = torch.arange(500)
    assert torch.equal(results[made.operator, rows], both[0])
    assert (made.first.any(1) & made.second.any(1)).all()
    for concept in (made.first, made.second):
        assert concept.view(500, 3, 2).sum(2).max() == 1  # no factor is said to be two things
    changed = made.operator != operator
    assert 0 < changed.sum() < 250
    assert (operator[changed] == 2).all()
    assert (made.operator[changed] == 1).all()
