"""Common base of adversarial methods whose codes can be read from their images."""

from abc import ABC

from jaxtyping import Float
from torch import Tensor

from dislab.base import Decoder, Encoder, ImageShape, Objective
from dislab.functional.checks import check_count
from dislab.functional.games import read_codes
from dislab.functional.precision import widen
from dislab.functional.streams import Stream
from dislab.objectives._games import images_of_codes, images_of_draws, values_of_codes
from dislab.objectives._inputs import checked_images, checked_rows


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
        """Images generated without noise from codes in the form of `codes`."""
        codes = len(self.categorical) + self.continuous
        z = checked_rows(self, "z", z, codes, "code")
        return images_of_codes(self.generator, z, self.noise_dim, self.categorical)

    def generate(self, count: int, stream: Stream) -> Float[Tensor, "batch channel height width"]:
        """Images of noise and codes drawn from their prior, pixels in [0, 1]."""
        check_count("count", count, 0)
        return images_of_draws(self.generator, self.draw(count, stream), self.categorical)

    def code_values(self, steps: int) -> list[Float[Tensor, " step"]]:
        """All values of each categorical code, then steps from −1 to 1 for each continuous one."""
        return values_of_codes(self.categorical, self.continuous, steps)
