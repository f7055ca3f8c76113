"""Ada-ML-VAE: pairs of images, whose shared latents are multiplied."""

from typing import ClassVar, final

import torch
from jaxtyping import Float, Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor

from dislab.base import (
    DecoderBuilder,
    Draws,
    EncoderBuilder,
    ImageShape,
    Objective,
    PairBatch,
    Posterior,
    RegularizerBuilder,
    Terms,
    TransitionBatch,
)
from dislab.functional.adaptive import (
    PairDivergence,
    labelled_latents,
    pair_divergence,
    product_of_gaussians,
    shared_latents,
)
from dislab.functional.checks import check_at_least
from dislab.functional.input_noise import InputNoise, check_input_noise, draw_input_noise
from dislab.functional.likelihoods import Likelihood
from dislab.objectives._pairs import (
    SIDES,
    PairLabels,
    halves,
    penalize_pair,
    sample_pair,
    seen_pair,
    share,
)
from dislab.objectives._variational import (
    Pixels,
    build_regularizers,
    draw_codes,
    posterior_of,
    with_own_losses,
)


@final
class AdaMLVAE(Objective):
    """Weak supervision by pairs: shared latents get the precision-weighted mean.

    A latent is shared by the two images of a pair where its two posteriors are closer than halfway
    between the closest and the farthest; both images then use the mean weighted by
    precision, and the harmonic mean of the variances (the reference code's; twice the variance of
    the densities' product). Regularisers apply to both images, and their penalties are averaged.

    Locatello et al. (2020), https://arxiv.org/abs/2002.02886, section 4.2. Departures: the
    divergence is symmetric unless `kl` says `forward`, as in Dittadi et al. (2021),
    https://arxiv.org/abs/2010.14407; `labels: known` searches the latents beyond the factors, which
    the reference code takes as shared.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        train_size: Size of the training set; the command line takes it from the data.
        latent_dim: Number of latents.
        encoder: Makes the encoder, whose outputs are means and log variances.
        decoder: Makes the decoder.
        regularizers: Makes the regularisers, by the name they have in the log.
        kl: How far apart two posteriors are: KL(first ‖ second), or the mean of both directions.
        labels: `none` finds the shared latents; `known` reads from the batch which factors changed:
            latent j stands for factor j, and only latents beyond the factors are searched.
        likelihood: How pixels are distributed around the decoder's output.
        input_noise: Standard deviations of the noise that the encoder alone sees in training, in
            pixels of [0, 1]: of each subpixel, and of a 16 times coarser grid over all channels.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, stepped once an optimiser step.

    Raises:
        InputError: There is no latent, no regulariser or one with a name that cannot be, or a
            part refuses its settings.
    """

    batch_types: ClassVar[tuple[type, ...]] = (PairBatch, TransitionBatch)

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
        check_at_least("latent_dim", latent_dim, 1)
        check_input_noise(input_noise)
        self.image_shape = image_shape
        self.latent_dim = latent_dim
        self.kl: PairDivergence = kl
        self.labels: PairLabels = labels
        self.input_noise = input_noise
        self.encoder = encoder(image_shape, 2 * latent_dim)
        self.decoder = decoder(latent_dim, image_shape)
        self.pixels = Pixels(likelihood)
        self.regularizers = build_regularizers(regularizers, latent_dim, train_size, "AdaMLVAE")

    def draw(self, count: int, generator: torch.Generator) -> Draws:
        """Noise and the regularisers' draws for each image, under `first.` and `second.`."""
        draws: Draws = {}
        for side in SIDES:
            own = draw_codes(count, self.latent_dim, self.regularizers, generator)
            if self.training and any(self.input_noise):
                own |= draw_input_noise(count, self.image_shape, generator)
            draws |= {f"{side}.{name}": rows for name, rows in own.items()}
        return draws

    def losses(
        self, batch: PairBatch | TransitionBatch, draws: Draws, step: Int[Tensor, ""]
    ) -> Terms:
        """The mean over both images of reconstruction plus penalties, shared latents averaged.

        The log holds the mean number of `shared` latents, and the sum without auxiliary losses as
        `objective`.
        """
        first, second = halves(self.encode(seen_pair(batch, draws, self.input_noise)))
        shared = shared_latents(pair_divergence(*first, *second, self.kl))
        if self.labels == "known":
            shared = labelled_latents(shared, batch.changed)
        common = product_of_gaussians(*first, *second)
        first, second = share(first, common, shared), share(second, common, shared)
        z = sample_pair(first, second, draws)
        images = torch.cat([batch.image, batch.second])
        reconstruction = self.pixels(self.decoder(torch.cat(z)), images)
        penalty, own_losses, terms = penalize_pair(self.regularizers, first, second, z, draws, step)
        objective = reconstruction + penalty
        log = {"reconstruction": reconstruction, "shared": shared.float().sum(1).mean(), **terms}
        return Terms(with_own_losses(objective, own_losses), log | {"objective": objective})

    def encode(self, image: Float[Tensor, "batch channel height width"]) -> Posterior:
        """The posteriors q(z|x) of single images, in float32 or wider."""
        return posterior_of(self.encoder(image))

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """Means of the posteriors of single images."""
        return self.encode(image).mean

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images, pixels in [0, 1]."""
        return self.pixels.mean(self.decoder(z))
