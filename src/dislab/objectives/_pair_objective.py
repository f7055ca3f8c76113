"""Common parts of the methods that learn from pairs of images."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor, nn

from dislab.base import (
    Draws,
    PairBatch,
    Posterior,
    Terms,
    TransitionBatch,
)
from dislab.functional.noise import InputNoise, draw_input_noise
from dislab.functional.pairs import (
    PairDivergence,
    labelled_latents,
    pair_divergence,
    shared_latents,
)
from dislab.functional.streams import Stream
from dislab.objectives._pairs import (
    SIDES,
    PairLabels,
    halves,
    penalize_pair,
    sample_pair,
    seen_pair,
    share,
)
from dislab.objectives._variational import draw_codes, with_own_losses
from dislab.objectives._variational_objective import VariationalObjective


class PairObjective(VariationalObjective, ABC):
    """A method that finds the latents which two images share, and gives both a common posterior.

    A concrete class sets the attributes below besides those of its base, and implements `common`.

    Attributes:
        kl: Distance of two posteriors.
        labels: Whether the batch tells which factors changed.
        input_noise: Standard deviations of the noise that the encoder alone sees.
        regularizers: The regularisers by name.
    """

    batch_types: ClassVar[tuple[type, ...]] = (PairBatch, TransitionBatch)
    code_noise: ClassVar[tuple[str, ...] | None] = tuple(f"{side}.noise" for side in SIDES)
    kl: PairDivergence
    labels: PairLabels
    input_noise: InputNoise
    regularizers: nn.ModuleDict

    @abstractmethod
    def common(self, first: Posterior, second: Posterior) -> Posterior:
        """The posteriors that two images have in common where they share a latent.

        Args:
            first: Posteriors of the first images.
            second: Posteriors of the second images.
        """

    def draw(self, count: int, stream: Stream) -> Draws:
        """Noise and the regularisers' draws for each image, under `first.` and `second.`."""
        draws: Draws = {}
        for side in SIDES:
            own = draw_codes(count, self.latent_dim, self.regularizers, stream.of(side))
            if self.training and any(self.input_noise):
                own |= draw_input_noise(count, self.image_shape, stream.of(side))
            draws |= {f"{side}.{name}": rows for name, rows in own.items()}
        return draws

    def losses(
        self, batch: PairBatch | TransitionBatch, draws: Draws, step: Int[Tensor, ""]
    ) -> Terms:
        """The mean over both images of reconstruction plus penalties, shared latents in common.

        The log holds the mean number of `shared` latents, and the sum without auxiliary losses as
        `objective`.
        """
        first, second = halves(self.encode(seen_pair(batch, draws, self.input_noise)))
        shared = shared_latents(pair_divergence(*first, *second, self.kl))
        if self.labels == "known":
            shared = labelled_latents(shared, batch.changed)
        common = self.common(first, second)
        first, second = share(first, common, shared), share(second, common, shared)
        z = sample_pair(first, second, draws)
        images = torch.cat([batch.image, batch.second])
        reconstruction = self.pixels(self.decoder(torch.cat(z)), images)
        penalty, own_losses, terms = penalize_pair(self.regularizers, first, second, z, draws, step)
        objective = reconstruction + penalty
        log = {"reconstruction": reconstruction, "shared": shared.float().sum(1).mean(), **terms}
        return Terms(with_own_losses(objective, own_losses), log | {"objective": objective})
