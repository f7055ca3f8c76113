"""Small networks over symbols."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dislab.base import Posterior
from dislab.errors import InputError
from dislab.functional.checks import check_at_least
from dislab.functional.factor_inputs import one_hot
from dislab.functional.symbols import OPERATORS


def perceptron(inputs: int, hidden: Sequence[int], outputs: int) -> nn.Sequential:
    """Fully connected layers with ReLU between them.

    Args:
        inputs: Length of the vectors that go in.
        hidden: Units of each hidden layer.
        outputs: Length of the vectors that come out.

    Raises:
        InputError: A layer has no units.
    """
    layers: list[nn.Module] = []
    for units in hidden:
        check_at_least("hidden", units, 1)
        layers += [nn.Linear(inputs, units), nn.ReLU()]
        inputs = units
    return nn.Sequential(*layers, nn.Linear(inputs, outputs))


def count_symbols(names: Sequence[str], method: str) -> int:
    """How many symbols there are.

    Args:
        names: Their names.
        method: Who asks, for the message.

    Raises:
        InputError: There are none.
    """
    if not names:
        raise InputError(
            f"{method} got no symbol names; use a data module that has some, such as SymbolData"
        )
    return len(names)


class OperatorNetwork(nn.Module):
    """One small network an operator, which goes over the latents of two Gaussians one by one.

    Args:
        hidden: Units of the hidden layer.
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        check_at_least("hidden", hidden, 1)
        layers = [perceptron(4, (hidden,), 2) for _ in OPERATORS]
        first, second = ([network[i] for network in layers] for i in (0, 2))
        self.first_weight, self.first_bias = _stacked(first)
        self.second_weight, self.second_bias = _stacked(second)

    def forward(
        self, first: Posterior, second: Posterior, operator: Int[Tensor, " batch"]
    ) -> Posterior:
        """The Gaussians that the operators make of two.

        Args:
            first: The first Gaussians.
            second: The second ones.
            operator: Numbers of the operators.
        """
        inputs = torch.stack((*first, *second), dim=2)
        chosen = one_hot(operator, len(OPERATORS)).to(inputs.dtype)
        hidden = _apply(inputs, chosen, self.first_weight, self.first_bias).relu()
        outputs = _apply(hidden, chosen, self.second_weight, self.second_bias)
        return Posterior(outputs[..., 0], outputs[..., 1])


def _stacked(layers: Sequence[nn.Module]) -> tuple[nn.Parameter, nn.Parameter]:
    weights = torch.stack(
        [layer.weight.detach() for layer in layers if isinstance(layer, nn.Linear)]
    )
    biases = torch.stack([layer.bias.detach() for layer in layers if isinstance(layer, nn.Linear)])
    return nn.Parameter(weights), nn.Parameter(biases)


def _apply(
    inputs: Float[Tensor, "batch latent inputs"],
    chosen: Float[Tensor, "batch operator"],
    weight: Float[Tensor, "operator outputs inputs"],
    bias: Float[Tensor, "operator outputs"],
) -> Float[Tensor, "batch latent outputs"]:
    of_each = torch.einsum("bo,oji->bji", chosen, weight)
    return torch.einsum("bli,bji->blj", inputs, of_each) + (chosen @ bias)[:, None]
