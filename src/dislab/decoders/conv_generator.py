"""Convolutional generator of images."""

from collections.abc import Sequence
from typing import final

from jaxtyping import Float
from torch import Tensor, nn

from dislab.base import Decoder, ImageShape
from dislab.functional.checks import check_count, check_halvings


@final
class ConvGenerator(Decoder):
    """Generator of two fully connected layers and transposed convolutions, with ReLU.

    The defaults are those of InfoGAN for MNIST (Chen et al. 2016,
    https://arxiv.org/abs/1606.03657, appendix C.1), with layer normalisation in place of batch
    normalisation, so that an image does not depend on the other images of the batch.

    Args:
        latent_dim: Length of the input vectors.
        image_shape: Channels, height and width.
        channels: Input channels of each 4×4 transposed convolution of stride 2.
        hidden: Units of the first fully connected layer.
        normalize: Whether all layers but the last are normalised.

    Raises:
        InputError: The images cannot be halved that often, or a size is not positive.
    """

    def __init__(
        self,
        latent_dim: int,
        image_shape: ImageShape,
        channels: Sequence[int] = (128, 64),
        hidden: int = 1024,
        normalize: bool = True,
    ) -> None:
        super().__init__()
        check_count("hidden", hidden, 1)
        check_halvings(image_shape, len(channels), "ConvGenerator")
        for count in channels:
            check_count("channels", count, 1)
        final_channels, height, width = image_shape
        small = (channels[0], height >> len(channels), width >> len(channels))
        features = small[0] * small[1] * small[2]
        layers: list[nn.Module] = [nn.Linear(latent_dim, hidden)]
        layers += [nn.LayerNorm(hidden)] if normalize else []
        layers += [nn.ReLU(), nn.Linear(hidden, features), nn.Unflatten(1, small)]
        layers += [nn.GroupNorm(1, channels[0])] if normalize else []
        layers.append(nn.ReLU())
        for read, written in zip(channels, (*channels[1:], None), strict=True):
            out = written or final_channels
            layers.append(nn.ConvTranspose2d(read, out, 4, stride=2, padding=1))
            if written:
                layers += [nn.GroupNorm(1, written)] if normalize else []
                layers.append(nn.ReLU())
        self.network = nn.Sequential(*layers)

    def forward(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Logits of the pixels, from noise and codes."""
        logits: Tensor = self.network(z)
        return logits
