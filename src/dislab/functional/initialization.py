"""Initial weights of networks."""

from typing import Literal, TypeVar

from torch import nn

Initialization = Literal["pytorch", "glorot", "kaiming"]
"""PyTorch's defaults; Glorot uniform weights with zero biases (TensorFlow 1's defaults); or Kaiming
uniform weights for rectifiers with PyTorch's biases."""

ModuleT = TypeVar("ModuleT", bound=nn.Module)


def initialize(network: ModuleT, initialization: Initialization) -> ModuleT:
    """The network with its linear and convolutional layers initialised, in place.

    Glorot & Bengio (2010), https://proceedings.mlr.press/v9/glorot10a.html, eq. 16; He et al.
    (2015), https://arxiv.org/abs/1502.01852, eq. 10.

    Args:
        network: Any module.
        initialization: Which rule.
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
