"""Common base and small networks of the methods that learn from images and their descriptions."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dislab.base import (
    Draws,
    EncoderBuilder,
    ImageShape,
    Objective,
    Posterior,
    SymbolBatch,
    make_encoder,
)
from dislab.errors import InputError
from dislab.functional.checks import check_count
from dislab.functional.losses import sample
from dislab.functional.networks import perceptron
from dislab.functional.runtime import full_precision
from dislab.functional.streams import Stream
from dislab.functional.symbols import OPERATORS, one_hot
from dislab.objectives._inputs import check_named, checked_noise, listed
from dislab.objectives._variational import checked_rows, posterior_of


@full_precision
def product_of_experts(
    mean: Float[Tensor, "expert latent"],
    log_var: Float[Tensor, "expert latent"],
    present: Float[Tensor, "batch expert"],
) -> tuple[Float[Tensor, "batch latent"], Float[Tensor, "batch latent"]]:
    """Mean and log variance of the product of N(0, 1) and the Gaussians of the present experts.

    Precisions add up, and means are weighted by them. Without experts, the result is the prior.

    Vedantam et al. (2018), https://arxiv.org/abs/1705.10762, §3.2.

    Args:
        mean: Means of the experts.
        log_var: Their log variances.
        present: Mask of the experts in the product, 0 or 1.
    """
    precision = torch.exp(-log_var)
    total = 1.0 + present @ precision
    return present @ (precision * mean) / total, -total.log()


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


class SymbolObjective(Objective, ABC):
    """A method whose latents are decoded to both images and descriptions.

    A concrete class sets the attributes below, and implements `losses`, `encode` and `decode`.

    Attributes:
        symbol_names: Names of the attributes.
        latent_dim: Number of latents.
        symbol_encoder: Maps descriptions to means and log variances of latents.
        symbol_decoder: Maps latents to the logits of the attributes.
    """

    batch_types: ClassVar[tuple[type, ...]] = (SymbolBatch,)
    symbol_names: tuple[str, ...]
    latent_dim: int
    symbol_encoder: nn.Module
    symbol_decoder: nn.Module

    def draw(self, count: int, stream: Stream) -> Draws:
        """Standard normal noise."""
        return {"noise": stream.normal("noise", count, self.latent_dim)}

    def encode_symbol(self, symbol: Float[Tensor, "batch symbol"]) -> Posterior:
        """The posteriors q(z|y) of descriptions alone; 1 names an attribute, 0 leaves it open.

        Raises:
            InputError: The number of columns is not the number of attributes.
        """
        each = f"of {listed(self.symbol_names)}"
        symbol = checked_rows(self, "symbol", symbol, len(self.symbol_names), each)
        return posterior_of(self.symbol_encoder(symbol))

    def sym2img(
        self, symbol: Float[Tensor, "batch symbol"], draws: Draws
    ) -> Float[Tensor, "batch channel height width"]:
        """Images of concepts, one per description, pixels in [0, 1].

        In a description, 1 names an attribute, and 0 leaves it open. `draws` is the result of
        `draw` for as many rows.

        Raises:
            InputError: The number of columns is not the number of attributes, an entry is neither 0
                nor 1, or the draws are for another number of rows.
        """
        posterior = self.encode_symbol(symbol)
        check_named("symbol", symbol)
        return self.decode(sample(*posterior, checked_noise(self, draws, posterior.mean)))

    def img2sym(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch symbol"]:
        """Probability of each attribute, from the posterior means of images, pixels in [0, 1]."""
        probabilities: Tensor = self.symbol_decoder(self.codes(image)).sigmoid()
        return probabilities

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """Means of the posteriors of images alone."""
        return self.encode(image).mean
