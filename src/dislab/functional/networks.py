"""Initial weights of networks, and the residual block of the 128×128 networks."""

from collections.abc import Sequence
from typing import Final, Literal, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dislab.functional.checks import check_count

Initialization = Literal["pytorch", "glorot", "kaiming"]
"""PyTorch's defaults; Glorot uniform weights with zero biases (the defaults of TensorFlow 1); or
Kaiming uniform weights for ReLU with PyTorch's biases."""

ModuleT = TypeVar("ModuleT", bound=nn.Module)

SLOPE: Final = 0.02
"""Slope of the leaky ReLUs below 0."""


def initialize(network: ModuleT, initialization: Initialization) -> ModuleT:
    """Initialises the linear and convolutional layers of a network in place, and returns it.

    Glorot & Bengio (2010), https://proceedings.mlr.press/v9/glorot10a.html, eq. 16; He et al.
    (2015), https://arxiv.org/abs/1502.01852, eq. 10.

    Args:
        network: Any module.
        initialization: Initialisation rule.
    """
    if initialization == "pytorch":
        return network
    for layer in network.modules():
        if not isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            continue
        if initialization == "kaiming":
            nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
            continue
        nn.init.xavier_uniform_(layer.weight)
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
    return network


class GatedBlock(nn.Module):
    """Input plus two 3×3 convolutions, each after a leaky ReLU, times a gate that starts at 0.

    Initially it is the identity. Bachlechner et al. (2020), https://arxiv.org/abs/2003.04887, eq.
    4.
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
        """The features plus the output of the block."""
        added: Tensor = self.branch(features)
        return features + self.gate * added


def perceptron(inputs: int, hidden: Sequence[int], outputs: int) -> nn.Sequential:
    """Fully connected layers with ReLU between them."""
    layers: list[nn.Module] = []
    for units in hidden:
        check_count("hidden", units, 1)
        layers += [nn.Linear(inputs, units), nn.ReLU()]
        inputs = units
    return nn.Sequential(*layers, nn.Linear(inputs, outputs))
