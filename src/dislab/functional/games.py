"""Losses of adversarial games between generator and critic, and the latent codes of InfoGAN."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from dislab.functional.runtime import full_precision
from dislab.functional.streams import Stream

Critic = Callable[[Tensor], Tensor]


@full_precision
def discriminator_loss(
    real: Float[Tensor, " batch"], fake: Float[Tensor, " batch"]
) -> Float[Tensor, ""]:
    """Cross-entropy of the classification into real and generated images, summed over both.

    Goodfellow et al. (2014), https://arxiv.org/abs/1406.2661, eq. 1, as a loss.

    Args:
        real: Logits of the class real, for real images.
        fake: The same for generated images.
    """
    return F.softplus(-real).mean() + F.softplus(fake).mean()


@full_precision
def generator_loss(fake: Float[Tensor, " batch"]) -> Float[Tensor, ""]:
    """Cross-entropy of generated images with the label real (non-saturating generator loss).

    Goodfellow et al. (2014), https://arxiv.org/abs/1406.2661, section 3.

    Args:
        fake: Logits of the class real, for generated images.
    """
    return F.softplus(-fake).mean()


@full_precision
def gradient_penalty(
    critic: Critic,
    real: Float[Tensor, "batch channel height width"],
    fake: Float[Tensor, "batch channel height width"],
    mix: Float[Tensor, " batch"],
) -> Float[Tensor, ""]:
    """Mean of (‖∇critic‖ − 1)² at points between real and generated images.

    Gulrajani et al. (2017), https://arxiv.org/abs/1704.00028, eq. 3, without the weight.

    Args:
        critic: Maps a batch of images to values, shape (batch,).
        real: Images.
        fake: Generated images, without gradient.
        mix: Points at which the gradient is taken, from 0 (the generated image) to 1 (the real
            one).
    """
    share = mix[:, None, None, None]
    between = share * real + (1 - share) * fake
    gradient: Tensor = torch.func.grad(lambda images: critic(images).sum())(between)
    norm = (gradient.flatten(1).square().sum(1) + 1e-12).sqrt()
    distance: Tensor = (norm - 1).square().mean()
    return distance


class Recovered(NamedTuple):
    """Lower bounds on the mutual information of codes and images, in nats per image.

    Attributes:
        categorical: Sum over the categorical codes; at most the sum of the logarithms of their
            numbers of values.
        continuous: Sum over the continuous codes. A deviation fixed at 1 bounds each code's part
            from above by log 2 − ½ log 2π = −0.226; a Q that answers 0 gets 1/6 less, −0.393.
    """

    categorical: Tensor
    continuous: Tensor


def draw_codes(
    count: int, sizes: Sequence[int], continuous: int, stream: Stream
) -> dict[str, Tensor]:
    """Codes from their prior: `category` (count, categorical code), `continuous` (count, code).

    Args:
        count: Images.
        sizes: Number of values of each categorical code; values are equally likely.
        continuous: Number of continuous codes, uniform between −1 and 1.
        stream: Source of the random numbers, on its device.
    """
    categories = [
        stream.integers(f"category.{index}", size, count) for index, size in enumerate(sizes)
    ]
    empty = torch.zeros(count, 0, dtype=torch.int64, device=stream.device)
    uniform = stream.uniform("continuous", count, continuous)
    return {
        "category": torch.stack(categories, dim=1) if categories else empty,
        "continuous": 2 * uniform - 1,
    }


def generator_input(
    noise: Float[Tensor, "batch noise"],
    category: Int[Tensor, "batch categorical"],
    continuous: Float[Tensor, "batch continuous"],
    sizes: Sequence[int],
) -> Float[Tensor, "batch input"]:
    """The input of a generator: noise, one-hot categorical codes, continuous codes.

    Args:
        noise: Incompressible noise.
        category: Value numbers.
        continuous: Continuous codes.
        sizes: Number of values of each categorical code.
    """
    ones = [
        F.one_hot(column, size).to(noise.dtype)
        for column, size in zip(category.unbind(1), sizes, strict=True)
    ]
    return torch.cat([noise, *ones, continuous.to(noise.dtype)], dim=1)


@full_precision
def recovered(
    outputs: Float[Tensor, "batch output"],
    category: Int[Tensor, "batch categorical"],
    continuous: Float[Tensor, "batch continuous"],
    sizes: Sequence[int],
) -> Recovered:
    """E[log Q(c|x)] + H(c), the variational lower bound of I(c; G(z, c)).

    Q is categorical, and Gaussian for the continuous codes, whose entropy is log 2 each.
    Chen et al. (2016), https://arxiv.org/abs/1606.03657, eq. 5.

    Args:
        outputs: Outputs of Q: logits of each categorical code, then means, then the logarithms of
            the standard deviations if Q learns them (else they are 1).
        category: The value numbers that the images were generated from.
        continuous: The continuous codes, likewise.
        sizes: Number of values of each categorical code.
    """
    logits, means, log_std = split_outputs(outputs, sizes, continuous.shape[1])
    zero = outputs.new_zeros(())
    bounds = [
        math.log(size) - F.cross_entropy(scores, column)
        for scores, column, size in zip(logits, category.unbind(1), sizes, strict=True)
    ]
    density = -0.5 * ((continuous - means) / log_std.exp()).square() - log_std
    density = density - 0.5 * math.log(2 * math.pi) + math.log(2)
    return Recovered(sum(bounds, zero), density.sum(1).mean() if means.shape[1] else zero)


def read_codes(
    outputs: Float[Tensor, "batch output"], sizes: Sequence[int], continuous: int
) -> Float[Tensor, "batch code"]:
    """One column per code: the most probable value number of a categorical code, else the mean.

    Args:
        outputs: Of Q, as for `recovered`.
        sizes: Number of values of each categorical code.
        continuous: Number of continuous codes.
    """
    logits, means, _ = split_outputs(outputs, sizes, continuous)
    likely = [scores.argmax(1, keepdim=True).to(outputs.dtype) for scores in logits]
    return torch.cat([*likely, means], dim=1)


def split_outputs(
    outputs: Float[Tensor, "batch output"], sizes: Sequence[int], continuous: int
) -> tuple[tuple[Tensor, ...], Float[Tensor, "batch code"], Float[Tensor, "batch code"]]:
    """The logits of each categorical code, and means and log standard deviations of the others.

    Args:
        outputs: Of Q, as for `recovered`.
        sizes: Number of values of each categorical code.
        continuous: Number of continuous codes.
    """
    first = sum(sizes)
    means = outputs[:, first : first + continuous]
    learned = outputs[:, first + continuous :]
    return (
        torch.split(outputs[:, :first], list(sizes), dim=1) if sizes else (),
        means,
        learned if learned.shape[1] else torch.zeros_like(means),
    )
