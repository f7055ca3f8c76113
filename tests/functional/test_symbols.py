import pytest
import torch

from dislab.functional.losses import kl_between, log_density
from dislab.functional.streams import Stream
from dislab.functional.symbols import (
    RecombinationDraws,
    combined,
    draw_recombination,
    factor_inputs,
    factor_of_each,
    normalized,
    recombination,
    symbol_negative_log_likelihood,
)

NAMES = ("a=0", "a=1", "b=0", "b=1", "c=0", "c=1")
FACTOR = torch.tensor(factor_of_each(NAMES))

FACTORS = torch.tensor([[0, 2, 0], [2, 0, 0], [1, 3, 0]])
LAST = torch.tensor([2.0, 4.0, 0.0], dtype=torch.float64)


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


AND, IN_COMMON, IGNORE = 0, 1, 2
ALL = torch.ones(6)


@pytest.mark.parametrize(
    ("operator", "result"),
    [
        (AND, ("a=0", "b=0", "b=1", "c=1")),  # of b a contradiction
        (IN_COMMON, ("a=0",)),  # b is open, as c is
        (IGNORE, ("b=0",)),  # a is agreed on, b is not
    ],
)
def test_operators_on_sets_by_hand(operator: int, result: tuple[str, ...]) -> None:
    """They agree on a, disagree on b, and the first leaves c open."""
    first, second = k_hot("a=0", "b=0"), k_hot("a=0", "b=1", "c=1")
    made = combined(first, second, torch.tensor([operator]))
    assert torch.equal(made, k_hot(*result))


@pytest.mark.parametrize(
    ("operator", "lot", "first", "second"),
    [
        # said of a goes left, of b right
        (AND, (0.1, 0.9, 0.7), ("a=1",), ("b=0",)),
        # of c the first says more, the second, both with disagreement, neither
        (IN_COMMON, (0.1, 0.9, 0.1), ("a=1", "b=0", "c=1"), ("a=1", "b=0")),
        (IN_COMMON, (0.1, 0.9, 0.3), ("a=1", "b=0"), ("a=1", "b=0", "c=1")),
        (IN_COMMON, (0.1, 0.9, 0.6), ("a=1", "b=0", "c=1"), ("a=1", "b=0", "c=0")),
        (IN_COMMON, (0.1, 0.9, 0.8), ("a=1", "b=0"), ("a=1", "b=0")),
        # of b the second says another thing; of c something must be ignored, whatever the lot
        (IGNORE, (0.1, 0.4, 0.3), ("a=1", "b=0", "c=1"), ("c=1",)),
        (IGNORE, (0.1, 0.9, 0.6), ("a=1", "b=0", "c=1"), ("b=1", "c=1")),
    ],
)
def test_concepts_by_hand(
    operator: int, lot: tuple[float, ...], first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    symbol = k_hot("a=1", "b=0")
    order = torch.tensor([[0.5, 0.5, 0.5, 0.5, 0.2, 0.9]])
    draws = RecombinationDraws(
        torch.tensor([operator]), torch.tensor([lot]), order, torch.tensor([0])
    )
    made = recombination(symbol, ALL, FACTOR, draws)
    assert torch.equal(made.first, k_hot(*first))
    assert torch.equal(made.second, k_hot(*second))
    assert torch.equal(made.result, symbol)


def test_the_second_concept_of_ignore_may_say_more() -> None:
    draws = RecombinationDraws(
        torch.tensor([IGNORE]), torch.tensor([[0.1, 0.1, 0.6]]), torch.rand(1, 6), torch.tensor([0])
    )
    known = k_hot("b=1", "c=0")[0]  # the only attributes that may be added
    made = recombination(k_hot("a=1"), known, FACTOR, draws)
    assert torch.equal(made.first, k_hot("a=1", "b=1"))
    assert torch.equal(made.second, k_hot("b=1", "c=0"))


def test_a_full_description_leaves_a_factor_open() -> None:
    symbol = k_hot("a=1", "b=0", "c=1").expand(3, -1)
    draws = draw_recombination(3, 3, 6, Stream(0))
    draws = draws._replace(operator=torch.arange(3), left_open=torch.tensor([1, 1, 2]))
    made = recombination(symbol, ALL, FACTOR, draws)
    expected = torch.cat([symbol[:1], k_hot("a=1", "c=1"), k_hot("a=1", "b=0")])
    assert torch.equal(made.result, expected)
    assert torch.equal(made.operator, draws.operator)


def descriptions(count: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Random images, the attributes of which are all named, and their random descriptions."""
    generator = torch.Generator().manual_seed(seed)
    value = torch.randint(2, (count, 3), generator=generator)
    image = torch.stack((value == 0, value == 1), 2).float()
    named = torch.rand(count, 3, generator=generator) < 0.6
    named[:, 0] |= ~named.any(1)
    return image.flatten(1), (image * named[:, :, None]).flatten(1)


def test_the_operator_turns_the_concepts_into_the_description() -> None:
    symbol = descriptions(5000)[1]
    draws = draw_recombination(5000, 3, 6, Stream(1))
    made = recombination(symbol, ALL, FACTOR, draws)
    assert torch.equal(combined(made.first, made.second, made.operator), made.result)
    full = symbol.sum(1) == 3
    assert torch.equal(made.result[~full], symbol[~full])
    assert (made.result <= symbol).all()
    assert torch.equal(made.operator, draws.operator)
    assert (made.first.any(1) & made.second.any(1)).all()
    for concept in (made.first, made.second):
        assert concept.view(-1, 3, 2).sum(2).max() == 1  # no factor is said to be two things


def test_pairs_of_in_common_disagree_and_their_images_show_everything() -> None:
    """Without such pairs the operator learns a third value; tied to the image it learns another."""
    count = 60_000
    image, symbol = descriptions(count)
    draws = draw_recombination(count, 3, 6, Stream(1))
    made = recombination(symbol, ALL, FACTOR, draws)
    asked = made.operator == IN_COMMON
    said = [one.view(-1, 3, 2) for one in (made.first, made.second)]
    disagree = (said[0].sum(2) * said[1].sum(2) > 0) & (said[0] != said[1]).any(2)
    disagree &= asked[:, None]
    assert (disagree.any(1)[asked]).float().mean() > 0.3
    same = (made.first == made.second).all(1)[asked]
    assert same.float().mean() < 0.25
    assert not made.result.view(-1, 3, 2)[disagree].any()
    of_first = (image.view(-1, 3, 2)[disagree] * said[0][disagree]).sum(1)
    # what the image shows is either one's as often; standard error 0.006
    assert of_first.mean() == pytest.approx(0.5, abs=0.025)


def test_of_a_single_factor_nothing_is_left_open() -> None:
    draws = draw_recombination(9, 1, 2, Stream(1))
    symbol = torch.tensor([[1.0, 0.0]]).expand(9, -1)
    made = recombination(symbol, torch.ones(2), torch.tensor([0, 0]), draws)
    assert torch.equal(made.first, symbol)
    assert torch.equal(made.second, symbol)
    assert (made.operator < IGNORE).all()


def test_values_run_from_zero_to_one_and_a_single_value_is_zero() -> None:
    expected = torch.tensor([[0, 0.5, 0], [1, 0, 0], [0.5, 0.75, 0]], dtype=torch.float64)
    assert torch.equal(normalized(FACTORS, LAST), expected)


def test_a_one_hot_factor_stands_in_its_place() -> None:
    inputs = factor_inputs(FACTORS, LAST, (3, 5, 1), [0])
    expected = torch.tensor(
        [[1, 0, 0, 0.5, 0], [0, 0, 1, 0, 0], [0, 1, 0, 0.75, 0]], dtype=torch.float64
    )
    assert torch.equal(inputs, expected)
