"""DC-IGN: clamp the latents of factors that do not vary in a batch to their mean."""

from typing import ClassVar, final

import torch
from jaxtyping import Bool, Float, Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor

from dislab.base import (
    ClampedBatch,
    DecoderBuilder,
    Draws,
    EncoderBuilder,
    ImageShape,
    RegularizerBuilder,
    Terms,
    make_decoder,
    make_encoder,
)
from dislab.errors import InputError
from dislab.functional.checks import MOST_LATENTS, check_at_least, check_count
from dislab.functional.losses import Likelihood, sample
from dislab.functional.runtime import full_precision, gather_rows
from dislab.functional.streams import Stream
from dislab.objectives._variational import (
    Pixels,
    VariationalObjective,
    build_regularizers,
    draw_codes,
    labelled_posteriors,
    penalize,
    with_auxiliary,
)


@full_precision
def clamp_to_mean(
    z: Float[Tensor, "batch latent"], active: Bool[Tensor, "batch latent"]
) -> tuple[Float[Tensor, "batch latent"], Float[Tensor, ""]]:
    """Replaces inactive latents by their batch mean; also returns half their squared distance.

    The mean is over the global batch of all processes and carries no gradient, so that losses of
    the result train only the active latents. The distance is summed over latents and averaged over
    the batch; its gradient with respect to an inactive latent is (z − mean)/B, and zero for an
    active one.

    Kulkarni et al. (2015), https://arxiv.org/abs/1503.03167, section 3.2.

    Args:
        z: One sample of each posterior.
        active: Which latents may vary.
    """
    mean = gather_rows(z.detach()).mean(0)
    distance = (z - mean).masked_fill(active, 0.0)
    return mean + (z - mean).masked_fill(~active, 0.0), 0.5 * distance.square().sum(1).mean()


@final
class DCIGN(VariationalObjective):
    """Weak supervision by batches with one varying group of factors, with other latents clamped.

    Each group of factors has its own latents. In a batch of a group, the samples of all other
    latents are replaced by their batch mean before decoding, so that only the group's latents can
    explain the variation. The clamped latents learn to stay constant: their gradient is `strength`
    times their distance from the mean. Regularisers apply to all latents.

    Kulkarni et al. (2015), https://arxiv.org/abs/1503.03167, section 3.2. Departure: the
    gradient of the clamped latents is that of ½ · strength · mean_b ‖z − mean‖², a term of the
    loss, instead of a modified backward pass; the two are equal, with a factor 1/B because losses
    are batch means.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        train_size: Size of the training set; the command line takes it from the data.
        group_names: Names of the groups of factors; the command line takes them from the data.
        latents: Number of latents of each group, in the order of the code.
        encoder: Makes the encoder, whose outputs are means and log variances.
        decoder: Makes the decoder.
        regularizers: Makes the regularisers, by their names in the log.
        strength: Weight of the clamped latents' distance from their mean.
        likelihood: Distribution of the pixels around the decoder's output.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: The groups differ from the data's, a group has no latent, there is no
            regulariser, a regulariser has an invalid name, or a part refuses its settings.
    """

    batch_types: ClassVar[tuple[type, ...]] = (ClampedBatch,)
    smallest_batch = 2
    group_of_latent: Tensor

    def __init__(
        self,
        image_shape: ImageShape,
        train_size: int,
        group_names: tuple[str, ...],
        latents: dict[str, int],
        encoder: EncoderBuilder,
        decoder: DecoderBuilder,
        regularizers: dict[str, RegularizerBuilder],
        strength: float = 0.01,
        likelihood: Likelihood = "bernoulli",
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        _check_groups(group_names, latents)
        check_at_least("strength", strength, 0)
        self.image_shape = image_shape
        self.latent_dim = sum(latents.values())
        self.strength = strength
        self.encoder = make_encoder(encoder, image_shape, 2 * self.latent_dim)
        self.decoder = make_decoder(decoder, self.latent_dim, image_shape)
        self.pixels = Pixels(likelihood)
        self.regularizers = build_regularizers(regularizers, self.latent_dim, train_size, "DCIGN")
        numbers = torch.tensor([group_names.index(name) for name in latents])
        sizes = torch.tensor([*latents.values()])
        self.register_buffer("group_of_latent", numbers.repeat_interleave(sizes))

    def draw(self, count: int, stream: Stream) -> Draws:
        """Noise of the samples, then the draws of each regulariser, under `regulariser.name`."""
        return draw_codes(count, self.latent_dim, self.regularizers, stream)

    def losses(self, batch: ClampedBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """Negative log likelihood with clamped latents, plus penalties and the clamping term.

        The log holds the unweighted clamping term as `invariance`, and the sum without auxiliary
        losses as `objective`.
        """
        posterior = self.encode(batch.image)
        z = sample(*posterior, draws["noise"])
        active = batch.active[:, None] == self.group_of_latent
        clamped, invariance = clamp_to_mean(z, active)
        reconstruction = self.pixels(self.decoder(clamped), batch.image)
        labelled = labelled_posteriors(self, self.regularizers, batch.labelled)
        penalty, auxiliary, terms = penalize(self.regularizers, posterior, z, draws, step, labelled)
        objective = reconstruction + penalty + self.strength * invariance
        log = {"reconstruction": reconstruction, "invariance": invariance, **terms}
        return Terms(with_auxiliary(objective, auxiliary), log | {"objective": objective})


def _check_groups(group_names: tuple[str, ...], latents: dict[str, int]) -> None:
    if not group_names:
        raise InputError(
            "DCIGN needs data whose batches vary one group of factors at a time, and these data "
            "have no groups; use a data module that has some, such as ClampedData"
        )
    if set(latents) != set(group_names):
        raise InputError(
            f"latents names the groups {', '.join(latents) or 'none'}, and the data have "
            f"{', '.join(group_names)}; give each of these a number of latents"
        )
    for name, count in latents.items():
        check_count(f"latents.{name}", count, 1, MOST_LATENTS)
