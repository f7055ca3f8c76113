"""Snapping to scalar codebooks, one a latent."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.functional.precision import full_precision


class Snapped(NamedTuple):
    """Latents and the nearest value of each one's codebook.

    Attributes:
        value: The nearest values, shape (batch, latent); their gradient reaches the codebook alone.
        number: Their value numbers, shape (batch, latent).
        straight: The same values with the gradient of the latents, shape (batch, latent).
    """

    value: Tensor
    number: Tensor
    straight: Tensor


def even_values(latents: int, count: int) -> Float[Tensor, "latent value"]:
    """Codebooks of evenly spaced values from −½ to ½.

    Args:
        latents: Number of codebooks.
        count: Values in each.
    """
    return torch.linspace(-0.5, 0.5, count).repeat(latents, 1)


@full_precision
def snap(z: Float[Tensor, "batch latent"], values: Float[Tensor, "latent value"]) -> Snapped:
    """Each latent's nearest value; of two that are equally near the one with the lower number.

    Hsu et al. (2023), https://arxiv.org/abs/2305.18378, section 3.1; the straight-through gradient
    is that of Bengio et al. (2013), https://arxiv.org/abs/1308.3432.

    Args:
        z: Continuous latents.
        values: The codebooks.
    """
    number = (z.detach()[:, :, None] - values.detach()).abs().argmin(2)
    rows = values.expand(len(z), *values.shape)
    value = rows.gather(2, number[:, :, None]).squeeze(2)
    # not z + (value − z), which rounds: what is decoded in training is a value of the codebook
    return Snapped(value, number, value.detach() + (z - z.detach()))


@full_precision
def snapping_losses(
    z: Float[Tensor, "batch latent"], value: Float[Tensor, "batch latent"]
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """How far latents are from their values: the losses of the codebook and of the encoder.

    Both are the mean squared distance over latents and images. The first gives `z` no gradient,
    the second gives `value` none.

    Args:
        z: Continuous latents.
        value: The nearest values.
    """
    quantize = (z.detach() - value).square().mean()
    commit = (z - value.detach()).square().mean()
    return quantize, commit


def values_in_use(number: Int[Tensor, "batch latent"], count: int) -> Float[Tensor, ""]:
    """How many different values a batch takes, averaged over latents.

    Args:
        number: Value numbers.
        count: Values in each codebook.
    """
    every = torch.arange(count, device=number.device)
    return (number[:, :, None] == every).any(0).float().sum(1).mean()
