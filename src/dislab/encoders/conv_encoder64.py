"""Convolutional encoders for 64×64 images, one preset per paper."""

from typing import Final, Literal, NamedTuple, final

from jaxtyping import Float
from torch import Tensor, nn

from dislab.base import Encoder, ImageShape
from dislab.functional.checks import check_count, check_sides
from dislab.functional.networks import Initialization, initialize

Preset64 = Literal["burgess", "locatello", "kim", "montero"]


class _Design(NamedTuple):
    channels: tuple[int, int, int, int]
    kernels: tuple[int, int, int, int]
    hidden: tuple[int, ...]


_DESIGNS: Final[dict[Preset64, _Design]] = {
    "burgess": _Design((32, 32, 32, 32), (4, 4, 4, 4), (256, 256)),
    "locatello": _Design((32, 32, 64, 64), (4, 4, 2, 2), (256,)),
    "kim": _Design((32, 32, 64, 64), (4, 4, 4, 4), (128,)),
    "montero": _Design((32, 32, 64, 64), (4, 4, 4, 4), (256, 256)),
}


@final
class ConvEncoder64(Encoder):
    """Four strided convolutions and fully connected layers, for 64×64 images.

    The presets are different networks: `burgess` (Burgess et al. 2018,
    https://arxiv.org/abs/1804.03599, appendix A: 4×32 channels, two layers of 256), `locatello`
    (Locatello et al. 2019, https://arxiv.org/abs/1811.12359, appendix: 32, 32, 64, 64 channels
    with 2×2 kernels in the last two, one layer of 256), `kim` (Kim & Mnih 2018,
    https://arxiv.org/abs/1802.05983, table 1: 32, 32, 64, 64 channels, one layer of 128 for
    one-channel images and of 256 otherwise) and `montero` (the published code of Montero et al.
    2021, https://openreview.net/forum?id=qbH974jKUVy, named burgess_v2 there: 32, 32, 64, 64
    channels, two layers of 256).

    Args:
        image_shape: Channels, height and width; the last two must be 64.
        outputs: Length of the output vector.
        preset: The network, by paper.
        hidden: Units of each fully connected layer; None takes those of the preset.
        initialization: Distribution of the initial weights.

    Raises:
        InputError: The images are not 64×64, or a size is not positive.
    """

    def __init__(
        self,
        image_shape: ImageShape,
        outputs: int,
        preset: Preset64 = "burgess",
        hidden: int | None = None,
        initialization: Initialization = "pytorch",
    ) -> None:
        super().__init__()
        check_sides(image_shape, 64, "ConvEncoder64", "MLPEncoder")
        channels = image_shape[0]
        design = _DESIGNS[preset]
        if preset == "kim" and channels > 1:
            design = design._replace(hidden=(256,))
        if hidden is not None:
            check_count("hidden", hidden, 1)
            design = design._replace(hidden=(hidden,) * len(design.hidden))
        layers: list[nn.Module] = []
        for out, kernel in zip(design.channels, design.kernels, strict=True):
            layers += [nn.Conv2d(channels, out, kernel, stride=2, padding=kernel // 2 - 1)]
            layers += [nn.ReLU(inplace=True)]
            channels = out
        layers.append(nn.Flatten())
        features = channels * 4 * 4
        for units in design.hidden:
            layers += [nn.Linear(features, units), nn.ReLU(inplace=True)]
            features = units
        layers.append(nn.Linear(features, outputs))
        self.network = initialize(nn.Sequential(*layers), initialization)

    def forward(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch output"]:
        """The vectors of a batch of images, pixels in [0, 1]."""
        vectors: Tensor = self.network(image)
        return vectors
