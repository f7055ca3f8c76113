"""Quantisation with scalar codebooks, one per latent."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dislab.functional.runtime import full_precision


class Snapped(NamedTuple):
    """Quantised latents: the nearest value in the codebook of each latent.

    Attributes:
        value: Nearest values, shape (batch, latent); their gradient flows only to the codebook.
        index: Value numbers of the nearest values, shape (batch, latent).
        straight: Nearest values with the straight-through gradient, which flows only to the
            latents, shape (batch, latent).
    """

    value: Tensor
    number: Tensor
    straight: Tensor


def even_values(latents: int, count: int) -> Float[Tensor, "latent value"]:
    """Codebooks of evenly spaced values from −½ to ½.

    Args:
        latents: Number of codebooks.
        count: Number of values in each codebook.
    """
    return torch.linspace(-0.5, 0.5, count).repeat(latents, 1)


@full_precision
def snap(z: Float[Tensor, "batch latent"], values: Float[Tensor, "latent value"]) -> Snapped:
    """Quantises each latent to its nearest value; of two equally near ones, to the first.

    Hsu et al. (2023), https://arxiv.org/abs/2305.18378, section 3.1; the straight-through gradient
    is that of Bengio et al. (2013), https://arxiv.org/abs/1308.3432.

    Args:
        z: Continuous latents.
        values: The codebooks.
    """
    index = (z.detach()[:, :, None] - values.detach()).abs().argmin(2)
    rows = values.expand(len(z), *values.shape)
    value = rows.gather(2, index[:, :, None]).squeeze(2)
    # not z + (value − z), which rounds: training must decode exact values of the codebook
    return Snapped(value, index, value.detach() + (z - z.detach()))


@full_precision
def snapping_losses(
    z: Float[Tensor, "batch latent"], value: Float[Tensor, "batch latent"]
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Distances of latents from their values: the losses of the codebook and of the encoder.

    Both are the mean squared distance over latents and images. The first gives `z` no gradient,
    the second gives `value` none.

    Args:
        z: Continuous latents.
        value: The nearest values.
    """
    quantize = (z.detach() - value).square().mean()
    commit = (z - value.detach()).square().mean()
    return quantize, commit


def values_in_use(index: Int[Tensor, "batch latent"], count: int) -> Float[Tensor, ""]:
    """Number of different values in a batch, averaged over latents.

    Args:
        index: Value numbers.
        count: Number of values in each codebook.
    """
    every = torch.arange(count, device=index.device)
    return (index[:, :, None] == every).any(0).float().sum(1).mean()
