"""What the methods that learn from images and their descriptions have in common."""

from abc import ABC
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dislab.base import Draws, Objective, Posterior, SymbolBatch
from dislab.functional.gaussians import sample
from dislab.objectives._variational import posterior_of


class SymbolObjective(Objective, ABC):
    """A method whose latents are drawn as images and read as descriptions.

    A concrete class sets the attributes below, and implements `losses`, `encode` and `decode`.

    Attributes:
        latent_dim: Number of latents.
        symbol_encoder: From descriptions to means and log variances of latents.
        symbol_decoder: From latents to the logits of the attributes.
    """

    batch_types: ClassVar[tuple[type, ...]] = (SymbolBatch,)
    latent_dim: int
    symbol_encoder: nn.Module
    symbol_decoder: nn.Module

    def draw(self, count: int, generator: torch.Generator) -> Draws:
        """Standard normal noise."""
        size = count, self.latent_dim
        return {"noise": torch.randn(size, generator=generator, device=generator.device)}

    def encode_symbol(self, symbol: Float[Tensor, "batch symbol"]) -> Posterior:
        """The posteriors q(z|y) of descriptions alone.

        Args:
            symbol: Which attributes are named, 0 or 1.
        """
        return posterior_of(self.symbol_encoder(symbol))

    def sym2img(
        self, symbol: Float[Tensor, "batch symbol"], draws: Draws
    ) -> Float[Tensor, "batch channel height width"]:
        """Images of concepts, one a description, pixels in [0, 1].

        Args:
            symbol: Which attributes are named, 0 or 1.
            draws: What `draw` returned for as many.
        """
        return self.decode(sample(*self.encode_symbol(symbol), draws["noise"]))

    def img2sym(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch symbol"]:
        """Probability of each attribute, from the means of the images' posteriors.

        Args:
            image: Pixels in [0, 1].
        """
        probabilities: Tensor = self.symbol_decoder(self.codes(image)).sigmoid()
        return probabilities

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """Means of the posteriors of images alone."""
        return self.encode(image).mean
