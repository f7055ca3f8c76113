"""Fully connected decoder."""

import math
from typing import final

from jaxtyping import Float
from torch import Tensor, nn

from dislab.base import Decoder, ImageShape
from dislab.functional.checks import check_count
from dislab.functional.networks import Initialization, initialize


@final
class MLPDecoder(Decoder):
    """Fully connected layers with tanh, for images of any size.

    Higgins et al. (2017), https://openreview.net/forum?id=Sy2fzU9gl, appendix: three layers of
    1200.

    Args:
        latent_dim: Number of latents.
        image_shape: Channels, height and width.
        hidden: Units of each hidden layer.
        initialization: Distribution of the initial weights.

    Raises:
        InputError: A layer has no units.
    """

    def __init__(
        self,
        latent_dim: int,
        image_shape: ImageShape,
        hidden: tuple[int, ...] = (1200, 1200, 1200),
        initialization: Initialization = "pytorch",
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        features = latent_dim
        for units in hidden:
            check_count("hidden", units, 1)
            layers += [nn.Linear(features, units), nn.Tanh()]
            features = units
        layers += [nn.Linear(features, math.prod(image_shape)), nn.Unflatten(1, image_shape)]
        self.network = initialize(nn.Sequential(*layers), initialization)

    def forward(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Logits of a Bernoulli likelihood, or raw means of a Gaussian one."""
        output: Tensor = self.network(z)
        return output
