"""Convolutional decoders for 64×64 images, one preset per paper."""

from itertools import pairwise
from typing import Final, Literal, NamedTuple, final

from jaxtyping import Float
from torch import Tensor, nn

from dislab.base import Decoder, ImageShape
from dislab.functional.checks import check_count, check_sides
from dislab.functional.networks import Initialization, initialize

Preset64 = Literal["burgess", "locatello", "kim", "montero"]


class _Design(NamedTuple):
    hidden: tuple[int, ...]
    channels: tuple[int, int, int, int]


_DESIGNS: Final[dict[Preset64, _Design]] = {
    "burgess": _Design((256, 256), (32, 32, 32, 32)),
    "locatello": _Design((256,), (64, 64, 32, 32)),
    "kim": _Design((128,), (64, 64, 32, 32)),
    "montero": _Design((256, 256), (64, 64, 32, 32)),
}


@final
class ConvDecoder64(Decoder):
    """Fully connected layers and four transposed 4×4 convolutions, for 64×64 images.

    The presets are different networks: `burgess` (Burgess et al. 2018,
    https://arxiv.org/abs/1804.03599, appendix A), `locatello` (Locatello et al. 2019,
    https://arxiv.org/abs/1811.12359, appendix), `kim` (Kim & Mnih 2018,
    https://arxiv.org/abs/1802.05983, table 1: a layer of 128 for one-channel images and of 256
    otherwise) and `montero` (the published code of Montero et al. 2021,
    https://openreview.net/forum?id=qbH974jKUVy, named burgess_v2 there: two layers of 256).

    Args:
        latent_dim: Number of latents.
        image_shape: Channels, height and width; the last two must be 64.
        preset: The network, by paper.
        hidden: Units of each fully connected layer; None takes those of the preset.
        initialization: Distribution of the initial weights.

    Raises:
        InputError: The images are not 64×64, or a size is not positive.
    """

    def __init__(
        self,
        latent_dim: int,
        image_shape: ImageShape,
        preset: Preset64 = "burgess",
        hidden: int | None = None,
        initialization: Initialization = "pytorch",
    ) -> None:
        super().__init__()
        check_sides(image_shape, 64, "ConvDecoder64", "MLPDecoder")
        image_channels = image_shape[0]
        design = _DESIGNS[preset]
        if preset == "kim" and image_channels > 1:
            design = design._replace(hidden=(256,))
        if hidden is not None:
            check_count("hidden", hidden, 1)
            design = design._replace(hidden=(hidden,) * len(design.hidden))
        layers: list[nn.Module] = []
        features = latent_dim
        for units in (*design.hidden, design.channels[0] * 4 * 4):
            layers += [nn.Linear(features, units), nn.ReLU(inplace=True)]
            features = units
        layers.append(nn.Unflatten(1, (design.channels[0], 4, 4)))
        widths = (*design.channels, image_channels)
        for into, out in pairwise(widths):
            layers += [nn.ConvTranspose2d(into, out, 4, stride=2, padding=1), nn.ReLU(inplace=True)]
        self.network = initialize(nn.Sequential(*layers[:-1]), initialization)

    def forward(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Logits of a Bernoulli likelihood, or raw means of a Gaussian one."""
        output: Tensor = self.network(z)
        return output
