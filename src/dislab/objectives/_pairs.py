"""Common base of the methods that learn from pairs of images."""

from abc import ABC, abstractmethod
from typing import ClassVar, Final, Literal

import torch
from jaxtyping import Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor, nn

from dislab.base import (
    DecoderBuilder,
    Draws,
    EncoderBuilder,
    ImageShape,
    PairBatch,
    Posterior,
    RegularizerBuilder,
    Terms,
    TransitionBatch,
    make_decoder,
    make_encoder,
)
from dislab.functional.checks import MOST_LATENTS, check_count
from dislab.functional.losses import Likelihood, sample
from dislab.functional.noise import InputNoise, check_input_noise, draw_input_noise
from dislab.functional.pairs import (
    PairDivergence,
    labelled_latents,
    pair_divergence,
    shared_latents,
)
from dislab.functional.streams import Stream
from dislab.objectives._variational import (
    Labelled,
    Penalties,
    Pixels,
    VariationalObjective,
    build_regularizers,
    draw_codes,
    draws_of,
    labelled_posteriors,
    penalize,
    with_auxiliary,
    with_input_noise,
)

PairLabels = Literal["none", "known"]
"""Whether the changed factors of a pair are unknown or read from the batch."""

_SIDES: Final = ("first", "second")
"""Names of the draws of the two images."""


def penalize_pair(
    regularizers: nn.ModuleDict,
    first: Posterior,
    second: Posterior,
    z: list[Tensor],
    draws: Draws,
    step: Int[Tensor, ""],
    labelled: Labelled | None = None,
    sides: tuple[str, str] = _SIDES,
) -> Penalties:
    """All sums and terms, averaged over the two images."""
    first_penalty, second_penalty = (
        penalize(regularizers, posterior, codes, draws_of(side, draws), step, labelled)
        for side, posterior, codes in zip(sides, (first, second), z, strict=True)
    )
    auxiliary = None
    if first_penalty.auxiliary is not None and second_penalty.auxiliary is not None:
        auxiliary = 0.5 * (first_penalty.auxiliary + second_penalty.auxiliary)
    return Penalties(
        0.5 * (first_penalty.penalty + second_penalty.penalty),
        auxiliary,
        {
            name: 0.5 * (first_penalty.terms[name] + second_penalty.terms[name])
            for name in first_penalty.terms
        },
    )


class PairObjective(VariationalObjective, ABC):
    """A method that finds the latents shared by two images and gives them a common posterior.

    A concrete class implements `common`; its docstring describes the settings, for the help of the
    command line.
    """

    batch_types: ClassVar[tuple[type, ...]] = (PairBatch, TransitionBatch)
    code_noise: ClassVar[tuple[str, ...] | None] = tuple(f"{side}.noise" for side in _SIDES)

    def __init__(
        self,
        image_shape: ImageShape,
        train_size: int,
        latent_dim: int,
        encoder: EncoderBuilder,
        decoder: DecoderBuilder,
        regularizers: dict[str, RegularizerBuilder],
        kl: PairDivergence = "symmetric",
        labels: PairLabels = "none",
        likelihood: Likelihood = "bernoulli",
        input_noise: InputNoise = (0.0, 0.0),
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        check_count("latent_dim", latent_dim, 1, MOST_LATENTS)
        check_input_noise(input_noise)
        self.image_shape = image_shape
        self.latent_dim = latent_dim
        self.kl: PairDivergence = kl
        self.labels: PairLabels = labels
        self.input_noise = input_noise
        self.encoder = make_encoder(encoder, image_shape, 2 * latent_dim)
        self.decoder = make_decoder(decoder, latent_dim, image_shape)
        self.pixels = Pixels(likelihood)
        owner = type(self).__name__
        self.regularizers = build_regularizers(regularizers, latent_dim, train_size, owner)

    @abstractmethod
    def common(self, first: Posterior, second: Posterior) -> Posterior:
        """The common posteriors of two images, used for shared latents."""

    def draw(self, count: int, stream: Stream) -> Draws:
        """Noise and the regularisers' draws for each image, under `first.` and `second.`."""
        draws: Draws = {}
        for side in _SIDES:
            side_draws = draw_codes(count, self.latent_dim, self.regularizers, stream.of(side))
            if self.training and any(self.input_noise):
                side_draws |= draw_input_noise(count, self.image_shape, stream.of(side))
            draws |= {f"{side}.{name}": rows for name, rows in side_draws.items()}
        return draws

    def losses(
        self, batch: PairBatch | TransitionBatch, draws: Draws, step: Int[Tensor, ""]
    ) -> Terms:
        """Reconstruction plus penalties with common shared latents, averaged over both images.

        The log holds the mean number of `shared` latents, and the sum without auxiliary losses as
        `objective`.
        """
        images = batch.image, batch.second
        # networks get both images of all pairs in one batch
        inputs = [
            with_input_noise(image, draws_of(side, draws), self.input_noise)
            for side, image in zip(_SIDES, images, strict=True)
        ]
        both = self.encode(torch.cat(inputs))
        first, second = map(Posterior, both.mean.chunk(2), both.log_var.chunk(2))
        shared = shared_latents(pair_divergence(*first, *second, self.kl))
        if self.labels == "known":
            shared = labelled_latents(shared, batch.changed)
        common = self.common(first, second)
        first, second = (
            Posterior(*(torch.where(shared, *rows) for rows in zip(common, posterior, strict=True)))
            for posterior in (first, second)
        )
        z = [
            sample(*posterior, draws[f"{side}.noise"])
            for side, posterior in zip(_SIDES, (first, second), strict=True)
        ]
        reconstruction = self.pixels(self.decoder(torch.cat(z)), torch.cat(images))
        labelled = labelled_posteriors(self, self.regularizers, batch.labelled)
        penalty, auxiliary, terms = penalize_pair(
            self.regularizers, first, second, z, draws, step, labelled
        )
        objective = reconstruction + penalty
        log = {"reconstruction": reconstruction, "shared": shared.float().sum(1).mean(), **terms}
        return Terms(with_auxiliary(objective, auxiliary), log | {"objective": objective})
