"""Common base of the methods that learn from images and their descriptions."""

from abc import ABC
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from dislab.base import Draws, Objective, Posterior, SymbolBatch
from dislab.functional.gaussians import sample
from dislab.functional.streams import Stream
from dislab.objectives._inputs import check_named, checked_noise, checked_rows, listed
from dislab.objectives._variational import posterior_of


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
