"""Functions for adversarial methods with latent codes: checks of settings, images of codes."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Decoder, Draws
from dislab.errors import InputError
from dislab.functional.checks import MOST_LATENTS, check_at_least, check_count
from dislab.functional.games import generator_input
from dislab.functional.precision import widen


def check_codes(
    noise_dim: int,
    categorical: Sequence[int],
    continuous: int,
    at_least_zero: Mapping[str, int | float],
) -> None:
    """Refuses invalid sizes, rates and weights, missing codes, and codes with a single value."""
    check_count("noise_dim", noise_dim, 0, MOST_LATENTS)
    check_count("continuous", continuous, 0, MOST_LATENTS)
    for size in categorical:
        check_count("each number of values in categorical", size, 2, MOST_LATENTS)
    if not len(categorical) + continuous:
        raise InputError(
            "no code is given: categorical is empty and continuous is 0; give at least one"
        )
    for name, value in at_least_zero.items():
        check_at_least(name, value, 0)


def code_outputs(categorical: Sequence[int], continuous: int, learned: bool) -> int:
    """Number of outputs of Q(c|x), including learned standard deviations of continuous codes."""
    return sum(categorical) + continuous * (2 if learned else 1)


def images_of_draws(
    generator: Decoder, draws: Draws, categorical: Sequence[int]
) -> Float[Tensor, "batch channel height width"]:
    """Images generated from noise and codes, pixels in [0, 1]; the generator returns logits."""
    codes = draws["category"], draws["continuous"]
    logits: Tensor = generator(generator_input(draws["noise"], *codes, categorical))
    return logits.sigmoid()


def values_of_codes(
    categorical: Sequence[int], continuous: int, steps: int
) -> list[Float[Tensor, " step"]]:
    """All values of each categorical code, then steps from −1 to 1 for each continuous one."""
    check_count("steps", steps, 1)
    return [
        *(torch.arange(float(size)) for size in categorical),
        *(torch.linspace(-1.0, 1.0, steps) for _ in range(continuous)),
    ]


def images_of_codes(
    generator: Decoder,
    z: Float[Tensor, "batch latent"],
    noise_dim: int,
    categorical: Sequence[int],
) -> Float[Tensor, "batch channel height width"]:
    """Images generated from codes without noise, pixels in [0, 1].

    Categorical codes come first in `z`; their value numbers are rounded and clipped here.
    """
    first = len(categorical)
    largest = z.new_tensor([size - 1 for size in categorical])
    category = z[:, :first].round().clamp(min=0).minimum(largest).long()
    noise = z.new_zeros(z.shape[0], noise_dim)  # `len` would fix the batch size of an export
    logits: Tensor = generator(generator_input(noise, category, z[:, first:], categorical))
    return widen(logits).sigmoid()
