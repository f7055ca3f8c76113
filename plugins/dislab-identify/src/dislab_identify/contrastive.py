"""Methods without a decoder: TCL, contrastive inversion and LeJEPA."""

from typing import Any, ClassVar, Literal, final, get_args

import torch
from jaxtyping import Float, Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor, nn
from torch.nn import functional as F

from dislab.base import (
    Draws,
    Encoder,
    EncoderBuilder,
    ImageBatch,
    ImageShape,
    Objective,
    PairBatch,
    Terms,
    TransitionBatch,
    make_encoder,
)
from dislab.functional.checks import check_above, check_at_least, check_choice, check_count
from dislab.functional.runtime import widen
from dislab.functional.streams import Stream
from dislab_identify._shared import auxiliary_column, check_latents
from dislab_identify.densities import epps_pulley, info_nce
from dislab_identify.step_data import StepBatch

Statistic = Literal["absolute", "square"]


@final
class TCL(Objective):
    """Time-contrastive learning: an encoder whose absolute codes tell the segments apart.

    Hyvärinen & Morioka (2016), https://arxiv.org/abs/1605.06336. A linear classifier predicts the
    segment from |z|, as Laplace sources ask, or from z², as Gaussian sources do. If the spread of
    the sources changes between segments, |z| or z² is identified up to a linear map. The paper ends
    with linear ICA, which is left out here: score with `MCC` of `alignment: linear` or `BlockMCC`.

    Args:
        image_shape: Number of features, 1, 1; the command line takes it from the data.
        factor_names: Names of the factors; the command line takes them from the data.
        factor_sizes: Numbers of their values; likewise.
        latent_dim: Number of latents.
        encoder: Makes the encoder, with one output for each latent.
        auxiliary: Name of the factor that is the segment.
        statistic: What the classifier reads: `absolute` values of the codes, or their `square`.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: There are more latents than features, no such factor, or one of a single value.
    """

    code_noise: ClassVar[tuple[str, ...] | None] = ()

    def __init__(
        self,
        image_shape: ImageShape,
        factor_names: tuple[str, ...],
        factor_sizes: tuple[int, ...],
        latent_dim: int,
        encoder: EncoderBuilder,
        auxiliary: str = "segment",
        statistic: Statistic = "absolute",
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        check_latents("TCL", latent_dim, image_shape)
        check_choice("statistic", statistic, get_args(Statistic))
        self.statistic: Statistic = statistic
        self.column = auxiliary_column("TCL", auxiliary, factor_names, factor_sizes)
        self.encoder = make_encoder(encoder, image_shape, latent_dim)
        self.classifier = nn.Linear(latent_dim, factor_sizes[self.column])

    def draw(self, count: int, stream: Stream) -> Draws:
        """Draws nothing."""
        return {}

    def losses(self, batch: ImageBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """Cross-entropy of the segments in nats per image; logs the accuracy."""
        z = self.encoder(batch.image)
        logits = widen(self.classifier(z.abs() if self.statistic == "absolute" else z.square()))
        segment = batch.factors[:, self.column]
        loss = F.cross_entropy(logits, segment)
        accuracy = (logits.argmax(1) == segment).float().mean()
        return Terms(loss, {"cross_entropy": loss, "accuracy": accuracy})

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """The codes, before their absolute values."""
        return widen(self.encoder(image))


class _PairObjective(Objective):
    """A method that compares the codes of pairs."""

    batch_types: ClassVar[tuple[type, ...]] = (StepBatch, PairBatch, TransitionBatch)
    code_noise: ClassVar[tuple[str, ...] | None] = ()
    smallest_batch = 2
    encoder: Encoder

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """The encoder's outputs."""
        return widen(self.encoder(image))


@final
class ContrastiveInversion(_PairObjective):
    """InfoNCE with the distance Σ|z − z̃|^p, which inverts the mixing of matching worlds.

    Zimmermann et al. (2021), https://arxiv.org/abs/2102.08850: if sources are uniform and steps
    have the density exp(−Σ|z − z̃|^p/τ), up to a factor, codes are identified up to permutation,
    sign and scale. Negatives are the second members of the other pairs of the batch, on each
    process.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        latent_dim: Number of latents.
        encoder: Makes the encoder, with one output for each latent.
        exponent: p, at least 1; that of the steps.
        temperature: τ.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: There are more latents than features, or a number is out of range.
    """

    def __init__(
        self,
        image_shape: ImageShape,
        latent_dim: int,
        encoder: EncoderBuilder,
        exponent: float = 1.0,
        temperature: float = 1.0,
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        check_latents("ContrastiveInversion", latent_dim, image_shape)
        check_at_least("exponent", exponent, 1)
        check_above("temperature", temperature, 0)
        self.exponent = exponent
        self.temperature = temperature
        self.encoder = make_encoder(encoder, image_shape, latent_dim)

    def draw(self, count: int, stream: Stream) -> Draws:
        """Draws nothing."""
        return {}

    def losses(self, batch: Any, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """InfoNCE in nats per pair."""
        z, second = widen(self.encoder(batch.image)), widen(self.encoder(batch.second))
        loss = info_nce(z, second, self.exponent, self.temperature)
        return Terms(loss, {"info_nce": loss})


@final
class LeJEPA(_PairObjective):
    """Codes of pairs are pulled together, and all of them towards a standard normal distribution.

    The loss is the mean squared distance of both codes from their middle plus `weight` times
    SIGReg: the number of codes times the Epps–Pulley distance from N(0, 1), averaged over random
    directions, which each step draws anew.

    Balestriero & LeCun (2025), https://arxiv.org/abs/2511.08544; knots, directions and the sum of
    the two terms are those of the code of `lejepa-identifiability`. In several processes each takes
    its share of the directions, and its own codes.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        latent_dim: Number of latents.
        encoder: Makes the encoder, with one output for each latent.
        weight: Weight of SIGReg.
        directions: Number of directions.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: There are more latents than features, or a number is out of range.
    """

    def __init__(
        self,
        image_shape: ImageShape,
        latent_dim: int,
        encoder: EncoderBuilder,
        weight: float = 1e-3,
        directions: int = 256,
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        check_latents("LeJEPA", latent_dim, image_shape)
        check_at_least("weight", weight, 0)
        check_count("directions", directions, 1)
        self.latent_dim = latent_dim
        self.weight = weight
        self.directions = directions
        self.encoder = make_encoder(encoder, image_shape, latent_dim)

    def draw(self, count: int, stream: Stream) -> Draws:
        """Unnormalised directions, in as many rows as there are pairs."""
        each = -(-self.directions // count)
        return {"directions": stream.normal("directions", count, each, self.latent_dim)}

    def losses(self, batch: Any, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """Distance of pairs plus weighted SIGReg."""
        z, second = widen(self.encoder(batch.image)), widen(self.encoder(batch.second))
        # the distance of both from their middle is a quarter of their squared distance
        alignment = 0.25 * (z - second).square().mean()
        directions = F.normalize(draws["directions"].flatten(0, 1)[: self.directions], dim=1)
        codes = torch.cat([z, second])
        sigreg = len(codes) * epps_pulley(codes @ directions.T).mean()
        loss = alignment + self.weight * sigreg
        return Terms(loss, {"alignment": alignment, "sigreg": sigreg})
