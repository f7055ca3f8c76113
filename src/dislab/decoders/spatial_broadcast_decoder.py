"""Decoder that computes each pixel from the latents and the pixel's coordinates."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dislab.base import Decoder, ImageShape
from dislab.errors import InputError
from dislab.functional.checks import check_count
from dislab.functional.networks import Initialization, initialize


@final
class SpatialBroadcastDecoder(Decoder):
    """Convolutions of stride 1 over latents tiled across the image and two coordinate channels.

    Watters et al. (2019), https://arxiv.org/abs/1901.07017, algorithm 1. Number and width of the
    convolutions are settings with defaults that are not from the paper.

    Args:
        latent_dim: Number of latents.
        image_shape: Channels, height and width; any size.
        channels: Width of each hidden convolution, in order.
        kernel_size: Side of every kernel, in pixels; odd, so that images keep their size.
        initialization: Distribution of the initial weights.

    Raises:
        InputError: A width or the kernel's side is not positive, or the side is even.
    """

    coordinates: Tensor

    def __init__(
        self,
        latent_dim: int,
        image_shape: ImageShape,
        channels: tuple[int, ...] = (64, 64, 64, 64),
        kernel_size: int = 3,
        initialization: Initialization = "pytorch",
    ) -> None:
        super().__init__()
        check_count("kernel_size", kernel_size, 1)
        if kernel_size % 2 == 0:
            raise InputError(
                f"kernel_size is {kernel_size}; it must be odd to keep the images' size"
            )
        image_channels, height, width = image_shape
        rows, columns = torch.linspace(-1, 1, height), torch.linspace(-1, 1, width)
        grid = torch.stack(torch.meshgrid(rows, columns, indexing="ij"))
        self.register_buffer("coordinates", grid, persistent=False)
        layers: list[nn.Module] = []
        features = latent_dim + 2
        for out in channels:
            check_count("channels", out, 1)
            layers += [nn.Conv2d(features, out, kernel_size, padding=kernel_size // 2), nn.ReLU()]
            features = out
        layers.append(nn.Conv2d(features, image_channels, kernel_size, padding=kernel_size // 2))
        self.network = initialize(nn.Sequential(*layers), initialization)

    def forward(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Logits of a Bernoulli likelihood, or raw means of another likelihood."""
        count, (_, height, width) = len(z), self.coordinates.shape
        tiled = z[:, :, None, None].expand(-1, -1, height, width)
        coordinates = self.coordinates.to(z.dtype).expand(count, -1, -1, -1)
        output: Tensor = self.network(torch.cat([tiled, coordinates], dim=1))
        return output
