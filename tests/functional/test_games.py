import torch
from torch import nn
from torch.nn import functional as F

from dislab.functional.games import discriminator_loss, generator_loss, gradient_penalty

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
