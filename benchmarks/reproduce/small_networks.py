"""Small networks for 32×32 images, for experiments within minutes on a laptop."""

from typing import final

from jaxtyping import Float
from torch import Tensor, nn

from dislab.base import Decoder, Encoder, ImageShape
from dislab.errors import InputError


def _check(image_shape: ImageShape) -> None:
    if image_shape[1:] != (32, 32):
        raise InputError(f"these networks take 32×32 images, not {image_shape[1:]}; resize them")


@final
class SmallEncoder(Encoder):
    """Three strided convolutions of 32, 64, 64 channels and a layer of 256.

    Args:
        image_shape: Channels, height and width; the last two must be 32.
        outputs: Length of the vector that comes out.

    Raises:
        InputError: The images are not 32×32.
    """

    def __init__(self, image_shape: ImageShape, outputs: int) -> None:
        super().__init__()
        _check(image_shape)
        layers: list[nn.Module] = []
        channels = image_shape[0]
        for out in (32, 64, 64):
            layers += [nn.Conv2d(channels, out, 4, stride=2, padding=1), nn.ReLU()]
            channels = out
        layers += [nn.Flatten(), nn.Linear(channels * 16, 256), nn.ReLU(), nn.Linear(256, outputs)]
        self.network = nn.Sequential(*layers)

    def forward(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch output"]:
        """The vectors of a batch of images.

        Args:
            image: Pixels in [0, 1].
        """
        vectors: Tensor = self.network(image)
        return vectors


@final
class SmallDecoder(Decoder):
    """The encoder's mirror image, with transposed convolutions.

    Args:
        latent_dim: Number of latents.
        image_shape: Channels, height and width; the last two must be 32.

    Raises:
        InputError: The images are not 32×32.
    """

    def __init__(self, latent_dim: int, image_shape: ImageShape) -> None:
        super().__init__()
        _check(image_shape)
        layers: list[nn.Module] = [nn.Linear(latent_dim, 256), nn.ReLU(), nn.Linear(256, 64 * 16)]
        layers += [nn.ReLU(), nn.Unflatten(1, (64, 4, 4))]
        channels = 64
        for out in (64, 32):
            layers += [nn.ConvTranspose2d(channels, out, 4, stride=2, padding=1), nn.ReLU()]
            channels = out
        layers.append(nn.ConvTranspose2d(channels, image_shape[0], 4, stride=2, padding=1))
        self.network = nn.Sequential(*layers)

    def forward(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Logits of a Bernoulli likelihood.

        Args:
            z: Latent vectors.
        """
        logits: Tensor = self.network(z)
        return logits
