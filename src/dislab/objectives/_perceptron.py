"""Fully connected networks inside of objectives."""

from collections.abc import Sequence

from torch import nn

from dislab.functional.checks import check_count


def perceptron(inputs: int, hidden: Sequence[int], outputs: int) -> nn.Sequential:
    """Fully connected layers with ReLU between them."""
    layers: list[nn.Module] = []
    for units in hidden:
        check_count("hidden", units, 1)
        layers += [nn.Linear(inputs, units), nn.ReLU()]
        inputs = units
    return nn.Sequential(*layers, nn.Linear(inputs, outputs))
