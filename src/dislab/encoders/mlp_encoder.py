"""Fully connected encoder."""

import math
from typing import final

from jaxtyping import Float
from torch import Tensor, nn

from dislab.base import Encoder, ImageShape
from dislab.functional.checks import check_count
from dislab.functional.networks import Initialization, initialize


@final
class MLPEncoder(Encoder):
    """Fully connected layers with ReLU, for images of any size.

    Higgins et al. (2017), https://openreview.net/forum?id=Sy2fzU9gl, appendix: two layers of 1200.

    Args:
        image_shape: Channels, height and width.
        outputs: Length of the output vector.
        hidden: Units of each hidden layer.
        initialization: Distribution of the initial weights.

    Raises:
        InputError: A layer has no units.
    """

    def __init__(
        self,
        image_shape: ImageShape,
        outputs: int,
        hidden: tuple[int, ...] = (1200, 1200),
        initialization: Initialization = "pytorch",
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Flatten()]
        features = math.prod(image_shape)
        for units in hidden:
            check_count("hidden", units, 1)
            layers += [nn.Linear(features, units), nn.ReLU()]
            features = units
        layers.append(nn.Linear(features, outputs))
        self.network = initialize(nn.Sequential(*layers), initialization)

    def forward(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch output"]:
        """The vectors of a batch of images, pixels in [0, 1]."""
        vectors: Tensor = self.network(image)
        return vectors
