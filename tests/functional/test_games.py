import math

import pytest
import torch
from torch import nn
from torch.distributions import Normal
from torch.nn import functional as F

from dislab.functional.games import (
    discriminator_loss,
    draw_codes,
    generator_input,
    generator_loss,
    gradient_penalty,
    read_codes,
    recovered,
)
from dislab.functional.streams import Stream

REAL = torch.tensor([0.3, -1.2, 2.0])
FAKE = torch.tensor([-0.7, 0.4, 0.1])


def test_losses_are_cross_entropies() -> None:
    ones, zeros = torch.ones(3), torch.zeros(3)
    expected = F.binary_cross_entropy_with_logits(REAL, ones)
    expected += F.binary_cross_entropy_with_logits(FAKE, zeros)
    torch.testing.assert_close(discriminator_loss(REAL, FAKE), expected)
    deceived = F.binary_cross_entropy_with_logits(FAKE, ones)
    torch.testing.assert_close(generator_loss(FAKE), deceived)


def test_undecided_players_lose_log_two_each() -> None:
    nothing = torch.zeros(4)
    torch.testing.assert_close(discriminator_loss(nothing, nothing), 2 * torch.tensor(2.0).log())
    torch.testing.assert_close(generator_loss(nothing), torch.tensor(2.0).log())


def test_a_linear_critic_is_penalised_for_its_slope() -> None:
    """The gradient of w·x is w everywhere, so the penalty is (‖w‖ − 1)²."""
    slope = torch.tensor([3.0, 0.0, 4.0, 0.0]).view(1, 2, 2)
    real, fake = torch.rand(2, 5, 1, 2, 2)
    penalty = gradient_penalty(lambda x: (x * slope).sum((1, 2, 3)), real, fake, torch.rand(5))
    torch.testing.assert_close(penalty, torch.tensor(16.0))


def test_the_gradient_is_taken_between_the_images() -> None:
    """The gradient of ½‖x‖² is x itself: mix·real + (1 − mix)·fake."""
    real, fake = torch.full((2, 1, 1, 1), 3.0), torch.full((2, 1, 1, 1), 1.0)
    mix = torch.tensor([1.0, 0.25])
    penalty = gradient_penalty(lambda x: 0.5 * x.square().sum((1, 2, 3)), real, fake, mix)
    torch.testing.assert_close(penalty, torch.tensor(((3 - 1) ** 2 + (1.5 - 1) ** 2) / 2))


def test_its_gradient_equals_that_of_double_backward() -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Flatten(), nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).double()
    real, fake = torch.rand(2, 5, 1, 2, 2, dtype=torch.float64)
    mix = torch.rand(5, dtype=torch.float64)

    def critic(image: torch.Tensor) -> torch.Tensor:
        values: torch.Tensor = network(image)[:, 0]
        return values

    weights = list(network.parameters())[:-1]  # the last bias moves no gradient
    ours = torch.autograd.grad(gradient_penalty(critic, real, fake, mix), weights)
    share = mix.view(-1, 1, 1, 1)
    between = (share * real + (1 - share) * fake).requires_grad_()
    (gradient,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    penalty = (gradient.flatten(1).norm(dim=1) - 1).square().mean()
    torch.testing.assert_close(ours, torch.autograd.grad(penalty, weights))


def test_a_flat_critic_has_a_finite_gradient() -> None:
    flat = torch.zeros(1, requires_grad=True)
    images = torch.rand(3, 1, 2, 2)
    penalty = gradient_penalty(
        lambda x: flat * x.sum((1, 2, 3)), images, images, torch.full((3,), 0.5)
    )
    torch.testing.assert_close(penalty, torch.tensor(1.0), atol=1e-4, rtol=0)
    (slope,) = torch.autograd.grad(penalty, flat)
    assert slope.isfinite().all()


def test_codes_have_their_prior() -> None:
    drawn = draw_codes(20_000, (2, 5), 3, Stream(0))
    category, continuous = drawn["category"], drawn["continuous"]
    assert category.shape == (20_000, 2)
    assert continuous.shape == (20_000, 3)
    shares = torch.bincount(category[:, 1]) / 20_000
    torch.testing.assert_close(shares, torch.full((5,), 0.2), atol=0.015, rtol=0)
    assert -1 <= float(continuous.min()) < -0.99
    assert 0.99 < float(continuous.max()) <= 1
    torch.testing.assert_close(continuous.var(0), torch.full((3,), 1 / 3), atol=0.01, rtol=0)
    again = draw_codes(20_000, (2, 5), 3, Stream(0))
    assert torch.equal(again["category"], category)


def test_a_kind_of_code_may_be_missing() -> None:
    none = draw_codes(4, (), 1, Stream(0))
    assert none["category"].shape == (4, 0)
    z = generator_input(torch.zeros(4, 2), none["category"], none["continuous"], ())
    assert z.shape == (4, 3)
    outputs = torch.randn(4, 1)
    assert recovered(outputs, none["category"], none["continuous"], ()).categorical == 0
    only = draw_codes(4, (3,), 0, Stream(0))
    bounds = recovered(torch.randn(4, 3), only["category"], only["continuous"], (3,))
    assert bounds.continuous == 0
    assert read_codes(torch.randn(4, 3), (3,), 0).shape == (4, 1)


def test_the_generator_reads_noise_one_hot_and_continuous_codes() -> None:
    z = generator_input(
        torch.tensor([[0.5]]), torch.tensor([[1, 0]]), torch.tensor([[-0.25]]), (3, 2)
    )
    assert z.tolist() == [[0.5, 0, 1, 0, 1, 0, -0.25]]


def test_perfect_recovery_reaches_the_entropy() -> None:
    """With certain logits the bound is H(c) = log 10, 2.30 nats."""
    category = torch.arange(10)[:, None]
    outputs = 1000 * torch.eye(10)
    bound = recovered(outputs, category, torch.zeros(10, 0), (10,)).categorical
    torch.testing.assert_close(bound, torch.tensor(math.log(10)))


def test_no_recovery_is_worth_nothing() -> None:
    category = torch.arange(10)[:, None]
    bound = recovered(torch.zeros(10, 10), category, torch.zeros(10, 0), (10,)).categorical
    torch.testing.assert_close(bound, torch.tensor(0.0), atol=1e-6, rtol=0)


def test_continuous_codes_have_gaussian_densities() -> None:
    continuous = torch.tensor([[0.2, -0.9], [0.5, 0.1]])
    means = torch.tensor([[0.1, -0.5], [0.4, 0.4]])
    log_std = torch.tensor([[-1.0, 0.5], [0.2, -0.3]])
    nothing = torch.zeros(2, 0, dtype=torch.int64)
    entropy = 2 * math.log(2)
    learned = recovered(torch.cat([means, log_std], 1), nothing, continuous, ()).continuous
    density = Normal(means, log_std.exp()).log_prob(continuous).sum(1).mean()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(learned, density + entropy)
    fixed = recovered(means, nothing, continuous, ()).continuous
    density = Normal(means, 1.0).log_prob(continuous).sum(1).mean()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(fixed, density + entropy)


def test_read_codes_are_value_numbers_and_means() -> None:
    outputs = torch.tensor([[0.0, 3.0, 1.0, 0.7, -9.0]])
    assert torch.equal(read_codes(outputs, (3,), 1), torch.tensor([[1.0, 0.7]]))


@pytest.mark.parametrize(("reader", "bound"), [(1.0, -0.2258), (0.0, -0.3925)])
def test_bounds_of_a_continuous_code_with_a_fixed_deviation(reader: float, bound: float) -> None:
    """Perfect reading gives log 2 − ½ log 2π, none a sixth less, for each code."""
    codes = torch.linspace(-1, 1, 20_001, dtype=torch.float64)[:, None].repeat(1, 2)
    category = torch.zeros(len(codes), 0, dtype=torch.int64)
    found = recovered(reader * codes, category, codes, ())
    assert found.continuous.item() == pytest.approx(2 * bound, abs=2e-4)
