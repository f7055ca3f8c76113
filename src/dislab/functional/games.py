"""Losses of generators and critics, in nats per image where they are likelihoods."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from dislab.functional.precision import full_precision

Critic = Callable[[Tensor], Tensor]


@full_precision
def discriminator_loss(
    real: Float[Tensor, " batch"], fake: Float[Tensor, " batch"]
) -> Float[Tensor, ""]:
    """Cross-entropy of telling images from generated ones, both halves summed.

    Goodfellow et al. (2014), https://arxiv.org/abs/1406.2661, eq. 1, as a loss.

    Args:
        real: Logits that images are real, of images.
        fake: The same of generated images.
    """
    return F.softplus(-real).mean() + F.softplus(fake).mean()


@full_precision
def generator_loss(fake: Float[Tensor, " batch"]) -> Float[Tensor, ""]:
    """Cross-entropy of passing generated images off as real, the non-saturating form.

    Goodfellow et al. (2014), https://arxiv.org/abs/1406.2661, section 3.

    Args:
        fake: Logits that images are real, of generated images.
    """
    return F.softplus(-fake).mean()


@full_precision
def gradient_penalty(
    critic: Critic,
    real: Float[Tensor, "batch channel height width"],
    fake: Float[Tensor, "batch channel height width"],
    mix: Float[Tensor, " batch"],
) -> Float[Tensor, ""]:
    """Mean squared distance from 1 of the critic's gradient norm between real and fake images.

    Gulrajani et al. (2017), https://arxiv.org/abs/1704.00028, eq. 3, without its weight.

    Args:
        critic: Values of a batch of images, shape (batch,).
        real: Images.
        fake: Generated images, without gradient.
        mix: Where between a real (1) and a fake (0) image the gradient is taken, in [0, 1].
    """
    share = mix[:, None, None, None]
    between = share * real + (1 - share) * fake
    gradient: Tensor = torch.func.grad(lambda images: critic(images).sum())(between)
    norm = (gradient.flatten(1).square().sum(1) + 1e-12).sqrt()
    distance: Tensor = (norm - 1).square().mean()
    return distance
