"""Initial weights of networks."""

from typing import Literal, TypeVar

from torch import nn

Initialization = Literal["pytorch", "glorot"]
"""PyTorch's defaults, or Glorot uniform weights with zero biases (TensorFlow 1's defaults)."""

ModuleT = TypeVar("ModuleT", bound=nn.Module)


def initialize(network: ModuleT, initialization: Initialization) -> ModuleT:
    """The network with its linear and convolutional layers initialised, in place.

    Glorot & Bengio (2010), https://proceedings.mlr.press/v9/glorot10a.html, eq. 16.

    Args:
        network: Any module.
        initialization: Which rule.
    """
    if initialization == "glorot":
        for layer in network.modules():
            if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
                nn.init.xavier_uniform_(layer.weight)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
    return network
