"""Autoencoder that reconstructs partly hidden images."""

from typing import final

import torch
from jaxtyping import Float, Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor

from dislab.base import (
    DecoderBuilder,
    Draws,
    EncoderBuilder,
    ImageBatch,
    ImageShape,
    Objective,
    Terms,
    make_decoder,
    make_encoder,
)
from dislab.functional.checks import MOST_LATENTS, check_count
from dislab.functional.losses import Likelihood
from dislab.functional.runtime import widen
from dislab.functional.streams import Stream
from dislab.objectives._variational import Pixels, checked_images, checked_rows


def occlude(
    image: Float[Tensor, "batch channel height width"], corners: Float[Tensor, "batch 4"]
) -> Float[Tensor, "batch channel height width"]:
    """Sets the pixels inside a rectangle to 0.

    A pixel is inside if its centre is.

    Args:
        image: Pixels.
        corners: Positions of the rectangle's sides, two horizontal and two vertical ones, each pair
            in either order, as fractions of width and height.
    """
    height, width = image.shape[-2:]
    across = _between(corners[:, :2], width)
    down = _between(corners[:, 2:], height)
    hidden = down[:, None, :, None] & across[:, None, None, :]
    return image.masked_fill(hidden, 0.0)


def _between(sides: Float[Tensor, "batch 2"], size: int) -> Tensor:
    centres = (torch.arange(size, device=sides.device) + 0.5) / size
    return (sides.amin(1)[:, None] < centres) & (centres < sides.amax(1)[:, None])


@final
class DenoisingAutoencoder(Objective):
    """Autoencoder that reconstructs images in which a random rectangle is hidden.

    The positions of the rectangle's sides are uniform over the image, two for each direction, and
    drawn anew for each image and step. Codes are the outputs of the bottleneck; there is no
    posterior. A frozen run provides the features in which `BetaVAEDAE` compares images.

    Higgins et al. (2017), DARLA, https://arxiv.org/abs/1707.08475, and Higgins et al. (2018), SCAN,
    https://arxiv.org/abs/1707.03389, appendix.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        encoder: Makes the encoder.
        decoder: Makes the decoder.
        bottleneck: Length of the code.
        likelihood: Distribution of the pixels around the decoder's output.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: The bottleneck has no unit, or a part refuses its settings.
    """

    def __init__(
        self,
        image_shape: ImageShape,
        encoder: EncoderBuilder,
        decoder: DecoderBuilder,
        bottleneck: int = 100,
        likelihood: Likelihood = "bernoulli",
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        check_count("bottleneck", bottleneck, 1, MOST_LATENTS)
        self.image_shape = image_shape
        self.bottleneck = bottleneck
        self.pixels = Pixels(likelihood)
        self.encoder = make_encoder(encoder, image_shape, bottleneck)
        self.decoder = make_decoder(decoder, bottleneck, image_shape)

    def draw(self, count: int, stream: Stream) -> Draws:
        """The sides of the rectangles, as fractions of width (two) and height (two)."""
        return {"corners": stream.uniform("corners", count, 4)}

    def losses(self, batch: ImageBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """Negative log-likelihood of the complete images, given images with a hidden part."""
        output = self.decoder(self.encoder(occlude(batch.image, draws["corners"])))
        loss = self.pixels(output, batch.image)
        return Terms(loss, {"reconstruction": loss})

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """The outputs of the bottleneck for complete images, in float32 or wider."""
        return widen(self.encoder(checked_images(self, image, self.image_shape)))

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images of codes, pixels in [0, 1]."""
        return self.pixels.mean(
            self.decoder(checked_rows(self, "z", z, self.bottleneck, "feature"))
        )

    def reconstruct(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch channel height width"]:
        """The decoded codes of complete images."""
        return self.decode(self.codes(image))
