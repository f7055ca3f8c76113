"""Convolutional critic of images."""

from collections.abc import Sequence
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dislab.base import Encoder, ImageShape
from dislab.errors import InputError
from dislab.functional.checks import check_count, check_halvings


@final
class ConvCritic(Encoder):
    """Discriminator of strided convolutions and one fully connected layer, with leaky ReLU.

    The defaults are those of InfoGAN for MNIST (Chen et al. 2016,
    https://arxiv.org/abs/1606.03657, appendix C.1), with layer normalisation in place of batch
    normalisation: the output for an image must not depend on the other images of the batch, because
    the image's code is read from it.

    Args:
        image_shape: Channels, height and width.
        outputs: Length of the output vector.
        channels: Output channels of each 4×4 convolution of stride 2.
        hidden: Units of the fully connected layer.
        normalize: Whether all layers but the first are normalised.
        recognition_hidden: Units of an additional layer before the outputs that read codes (all but
            the first), 128 in the paper for MNIST; None has no such layer.

    Raises:
        InputError: The images cannot be halved that often, a size is not positive, or there is only
            one output, so that no code is read.
    """

    def __init__(
        self,
        image_shape: ImageShape,
        outputs: int,
        channels: Sequence[int] = (64, 128),
        hidden: int = 1024,
        normalize: bool = True,
        recognition_hidden: int | None = None,
    ) -> None:
        super().__init__()
        features, height, width = image_shape
        check_count("hidden", hidden, 1)
        check_halvings(image_shape, len(channels), "ConvCritic")
        layers: list[nn.Module] = []
        for layer, out in enumerate(channels):
            check_count("channels", out, 1)
            layers.append(nn.Conv2d(features, out, 4, stride=2, padding=1))
            if normalize and layer:
                layers.append(nn.GroupNorm(1, out))
            layers.append(nn.LeakyReLU(0.1))
            features = out
        pixels = (height >> len(channels)) * (width >> len(channels))
        layers += [nn.Flatten(), nn.Linear(features * pixels, hidden)]
        if normalize:
            layers.append(nn.LayerNorm(hidden))
        layers.append(nn.LeakyReLU(0.1))
        if recognition_hidden is None:
            layers.append(nn.Linear(hidden, outputs))
        self.network = nn.Sequential(*layers)
        self.recognition: nn.Sequential | None = None
        if recognition_hidden is not None:
            self.judgement = nn.Linear(hidden, 1)
            self.recognition = _recognition(hidden, recognition_hidden, outputs - 1, normalize)

    def forward(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch output"]:
        """The vectors of a batch of images, pixels in [0, 1]."""
        vectors: Tensor = self.network(image)
        if self.recognition is None:
            return vectors
        return torch.cat([self.judgement(vectors), self.recognition(vectors)], dim=1)


def _recognition(inputs: int, hidden: int, outputs: int, normalize: bool) -> nn.Sequential:
    """The layers that predict codes from the features shared with the critic."""
    check_count("recognition_hidden", hidden, 1)
    if outputs < 1:
        raise InputError(
            "recognition_hidden needs a second output: the first one judges images, and the others "
            "read codes; leave it out"
        )
    normalization = [nn.LayerNorm(hidden)] if normalize else []
    first, last = nn.Linear(inputs, hidden), nn.Linear(hidden, outputs)
    return nn.Sequential(first, *normalization, nn.LeakyReLU(0.1), last)
