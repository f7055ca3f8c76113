"""Common base of adversarial methods whose codes can be read from their images."""

from abc import ABC
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from dislab.base import Decoder, Draws, Encoder, ImageShape, Objective
from dislab.errors import InputError
from dislab.functional.checks import MOST_LATENTS, check_at_least, check_count
from dislab.functional.games import generator_input, read_codes
from dislab.functional.runtime import widen
from dislab.functional.streams import Stream
from dislab.objectives._variational import checked_images, checked_rows


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


def images_of_draws(
    generator: Decoder, draws: Draws, categorical: Sequence[int]
) -> Float[Tensor, "batch channel height width"]:
    """Images generated from noise and codes, pixels in [0, 1]; the generator returns logits."""
    codes = draws["category"], draws["continuous"]
    logits: Tensor = generator(generator_input(draws["noise"], *codes, categorical))
    return logits.sigmoid()


class GameObjective(Objective, ABC):
    """A generator of images from noise and codes, and a critic that also predicts the codes.

    A concrete class sets the attributes below, and implements `draw` and `losses`.

    Attributes:
        image_shape: Channels, height and width.
        noise_dim: Length of the noise.
        categorical: Number of values of each categorical code.
        continuous: Number of continuous codes.
        generator: Maps noise, one-hot codes and continuous codes to the logits of images.
        critic: Maps images to the critic's score, followed by the parameters of Q(c|x).
    """

    image_shape: ImageShape
    noise_dim: int
    categorical: tuple[int, ...]
    continuous: int
    generator: Decoder
    critic: Encoder

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """The codes predicted by Q: value numbers of categorical codes, then means of others."""
        outputs = widen(self.critic(checked_images(self, image, self.image_shape)))
        return read_codes(outputs[:, 1:], self.categorical, self.continuous)

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Images generated without noise from codes in the form of `codes`, pixels in [0, 1].

        Value numbers of categorical codes are rounded and clipped.
        """
        codes = len(self.categorical) + self.continuous
        z = checked_rows(self, "z", z, codes, "code")
        first = len(self.categorical)
        largest = z.new_tensor([size - 1 for size in self.categorical])
        category = z[:, :first].round().clamp(min=0).minimum(largest).long()
        noise = z.new_zeros(z.shape[0], self.noise_dim)  # `len` would fix an export's batch size
        inputs = generator_input(noise, category, z[:, first:], self.categorical)
        logits: Tensor = self.generator(inputs)
        return widen(logits).sigmoid()

    def generate(
        self, count: int, stream: Stream | int | None = None
    ) -> Float[Tensor, "batch channel height width"]:
        """Images of noise and codes drawn from their prior, pixels in [0, 1]."""
        check_count("count", count, 0)
        draws = self.draw(count, self.prior_stream(stream))
        return images_of_draws(self.generator, draws, self.categorical)

    def code_values(self, steps: int) -> list[Float[Tensor, " step"]]:
        """All values of each categorical code, then steps from −1 to 1 for each continuous one."""
        check_count("steps", steps, 1)
        return [
            *(torch.arange(float(size)) for size in self.categorical),
            *(torch.linspace(-1.0, 1.0, steps) for _ in range(self.continuous)),
        ]
