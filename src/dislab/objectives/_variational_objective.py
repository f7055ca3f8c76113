"""Common base of the methods with a posterior over latents and a likelihood of pixels."""

from abc import ABC
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from dislab.base import Decoder, Encoder, ImageShape, Objective, Posterior
from dislab.objectives._inputs import checked_images, checked_rows
from dislab.objectives._variational import Pixels, posterior_of


class VariationalObjective(Objective, ABC):
    """A method that encodes single images as Gaussians and decodes their samples.

    A concrete class sets the attributes below, and implements `draw` and `losses`.

    Attributes:
        image_shape: Channels, height and width.
        latent_dim: Number of latents.
        encoder: Maps images to means and log variances of latents.
        decoder: Maps latents to the parameters of the likelihood.
        pixels: The likelihood of pixels.
    """

    code_noise: ClassVar[tuple[str, ...] | None] = ("noise",)
    image_shape: ImageShape
    latent_dim: int
    encoder: Encoder
    decoder: Decoder
    pixels: Pixels

    def encode(self, image: Float[Tensor, "batch channel height width"]) -> Posterior:
        """The posteriors q(z|x) of single images, in float32 or wider."""
        return posterior_of(self.encoder(checked_images(self, image, self.image_shape)))

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """Means of the posteriors of single images."""
        return self.encode(image).mean

    def pixel_loss(
        self,
        z: Float[Tensor, "batch latent"],
        image: Float[Tensor, "batch channel height width"],
    ) -> Float[Tensor, ""]:
        """−log p(x|z) in nats per image, averaged over the batch."""
        rows = checked_rows(self, "z", z, self.latent_dim, "latent")
        checked = checked_images(self, image, self.image_shape)
        loss: Tensor = self.pixels(self.decoder(rows), checked)
        return loss

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images, pixels in [0, 1]."""
        return self.pixels.mean(self.decoder(checked_rows(self, "z", z, self.latent_dim, "latent")))
