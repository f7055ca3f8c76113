"""Residual encoder for 128×128 images."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dislab.base import Encoder, ImageShape
from dislab.errors import InputError
from dislab.functional.checks import check_sides
from dislab.functional.networks import SLOPE, GatedBlock


@final
class ResidualEncoder128(Encoder):
    """Ten gated residual blocks between 64×64 and 4×4, for 128×128 images.

    The first half of the outputs are means; the second half are log variances, which start near −1:
    their initial weights are a tenth of PyTorch's default. Features are normalised before both.

    Dittadi et al. (2021), https://arxiv.org/abs/2010.14407, appendix A. The positions of the four
    average pools and the slope of the leaky ReLUs, 0.02, are choices of dislab. A 1×1 convolution
    comes after its neighbouring pool instead of before: the function is the same at a quarter of
    the cost.

    Args:
        image_shape: Channels, height and width; the last two must be 128.
        outputs: Length of the output vector; even.

    Raises:
        InputError: The images are not 128×128, or the outputs are not means and log variances.
    """

    def __init__(self, image_shape: ImageShape, outputs: int) -> None:
        super().__init__()
        check_sides(image_shape, 128, "ResidualEncoder128", "MLPEncoder")
        channels = image_shape[0]
        if outputs % 2:
            raise InputError(
                f"ResidualEncoder128 gives means and log variances, an even number, not {outputs}"
            )
        self.trunk = nn.Sequential(
            nn.Conv2d(channels, 64, 5, stride=2, padding=2),
            nn.LeakyReLU(SLOPE),
            *_stage(64),
            nn.AvgPool2d(2),
            nn.Conv2d(64, 128, 1),
            *_stage(128),
            nn.AvgPool2d(2),
            *_stage(128),
            nn.AvgPool2d(2),
            nn.Conv2d(128, 256, 1),
            *_stage(256),
            nn.AvgPool2d(2),
            *_stage(256),
            nn.Flatten(),
            nn.LeakyReLU(SLOPE),
            nn.Linear(256 * 4 * 4, 512),
            nn.LeakyReLU(SLOPE),
            nn.LayerNorm(512),
        )
        self.head = nn.Linear(512, outputs)
        with torch.no_grad():
            self.head.weight[outputs // 2 :] /= 10
            self.head.bias[outputs // 2 :] = -1.0

    def forward(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch output"]:
        """The vectors of a batch of images, pixels in [0, 1]."""
        vectors: Tensor = self.head(self.trunk(image))
        return vectors


def _stage(channels: int) -> list[nn.Module]:
    return [GatedBlock(channels), GatedBlock(channels)]
