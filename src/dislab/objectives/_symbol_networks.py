"""Small networks over symbols."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dislab.base import EncoderBuilder, ImageShape, Posterior, make_encoder
from dislab.errors import InputError
from dislab.functional.checks import check_count
from dislab.functional.gaussians import product_of_experts
from dislab.functional.symbols import OPERATORS, one_hot
from dislab.objectives._perceptron import perceptron
from dislab.objectives._variational import posterior_of


def count_symbols(names: Sequence[str], method: str) -> int:
    """Number of symbols; refuses zero."""
    if not names:
        raise InputError(
            f"{method} got no symbol names; use a data module that has some, such as SymbolData"
        )
    return len(names)


class OperatorNetwork(nn.Module):
    """A small network for each operator, applied to each latent of two Gaussians separately."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        check_count("hidden", hidden, 1)
        layers = [perceptron(4, (hidden,), 2) for _ in OPERATORS]
        first, second = ([network[i] for network in layers] for i in (0, 2))
        self.first_weight, self.first_bias = _stacked(first)
        self.second_weight, self.second_bias = _stacked(second)

    def forward(
        self, first: Posterior, second: Posterior, operator: Int[Tensor, " batch"]
    ) -> Posterior:
        """The Gaussians that result from the operators."""
        inputs = torch.stack((*first, *second), dim=2)
        chosen = one_hot(operator, len(OPERATORS)).to(inputs.dtype)
        hidden = _apply(inputs, chosen, self.first_weight, self.first_bias).relu()
        outputs = _apply(hidden, chosen, self.second_weight, self.second_bias)
        return posterior_of(outputs.transpose(1, 2).flatten(1))


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


class JointEncoder(nn.Module):
    """Encoder of an image and its description together.

    `hidden` lists the units of the layers after concatenation, at least one layer.
    """

    def __init__(
        self,
        encoder: EncoderBuilder,
        image_shape: ImageShape,
        symbols: int,
        hidden: Sequence[int],
        outputs: int,
    ) -> None:
        super().__init__()
        if not hidden:
            raise InputError("hidden is empty; name the units of at least one layer, such as [100]")
        self.encoder = make_encoder(encoder, image_shape, hidden[0])
        self.joined = perceptron(hidden[0] + symbols, hidden, outputs)

    def forward(
        self,
        image: Float[Tensor, "batch channel height width"],
        symbol: Float[Tensor, "batch symbol"],
    ) -> Float[Tensor, "batch outputs"]:
        """The output vectors of a batch."""
        outputs: Tensor = self.joined(torch.cat((self.encoder(image).relu(), symbol), dim=1))
        return outputs


class AttributeExperts(nn.Module):
    """One Gaussian for each attribute, multiplied over the attributes that a description names."""

    def __init__(self, symbols: int, latent_dim: int) -> None:
        super().__init__()
        # different means, or all attributes would be the same expert
        self.mean = nn.Parameter(0.1 * torch.randn(symbols, latent_dim))
        self.log_var = nn.Parameter(torch.zeros(symbols, latent_dim))

    def forward(self, symbol: Float[Tensor, "batch symbol"]) -> Float[Tensor, "batch outputs"]:
        """Means and log variances of the products with the prior."""
        return torch.cat(product_of_experts(self.mean, self.log_var, symbol), dim=1)
