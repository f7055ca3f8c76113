"""Residual decoder for 128×128 images."""

from typing import final

from jaxtyping import Float
from torch import Tensor, nn

from dislab.base import Decoder, ImageShape
from dislab.functional.checks import check_sides
from dislab.functional.networks import SLOPE, GatedBlock


@final
class ResidualDecoder128(Decoder):
    """Ten gated residual blocks between 4×4 and 64×64, for 128×128 images.

    It mirrors `ResidualEncoder128`, with bilinear upsampling in place of its pools and its stride.

    Dittadi et al. (2021), https://arxiv.org/abs/2010.14407, appendix A. The positions of the
    upsamplings and the slope of the leaky ReLUs, 0.02, are choices of dislab.

    Args:
        latent_dim: Number of latents.
        image_shape: Channels, height and width; the last two must be 128.

    Raises:
        InputError: The images are not 128×128.
    """

    def __init__(self, latent_dim: int, image_shape: ImageShape) -> None:
        super().__init__()
        check_sides(image_shape, 128, "ResidualDecoder128", "MLPDecoder")
        channels = image_shape[0]
        self.network = nn.Sequential(
            nn.Linear(latent_dim, 512),
            nn.LeakyReLU(SLOPE),
            nn.Linear(512, 256 * 4 * 4),
            nn.LeakyReLU(SLOPE),
            nn.Unflatten(1, (256, 4, 4)),
            *_stage(256),
            _double(),
            *_stage(256),
            nn.Conv2d(256, 128, 1),
            _double(),
            *_stage(128),
            _double(),
            *_stage(128),
            nn.Conv2d(128, 64, 1),
            _double(),
            *_stage(64),
            nn.LeakyReLU(SLOPE),
            _double(),
            nn.Conv2d(64, channels, 5, padding=2),
        )

    def forward(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Logits of a Bernoulli likelihood, or raw means of another likelihood."""
        output: Tensor = self.network(z)
        return output


def _stage(channels: int) -> list[nn.Module]:
    return [GatedBlock(channels), GatedBlock(channels)]


def _double() -> nn.Module:
    return nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
