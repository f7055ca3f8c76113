"""The residual block of the 128×128 networks."""

from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor, nn

SLOPE: Final = 0.02
"""Slope of the leaky ReLUs below 0."""


class GatedBlock(nn.Module):
    """Two 3×3 convolutions, each after a leaky ReLU, times a gate that starts at 0, plus the input.

    At first it is the identity. Bachlechner et al. (2020), https://arxiv.org/abs/2003.04887, eq. 4.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.branch = nn.Sequential(
            nn.LeakyReLU(SLOPE),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.LeakyReLU(SLOPE),
            nn.Conv2d(channels, channels, 3, padding=1),
        )
        self.gate = nn.Parameter(torch.zeros(()))

    def forward(
        self, features: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch channel height width"]:
        """The features plus what the block adds to them."""
        added: Tensor = self.branch(features)
        return features + self.gate * added
