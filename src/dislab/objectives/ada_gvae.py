"""Ada-GVAE: pairs of images, whose shared latents are averaged."""

from typing import final

from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable

from dislab.base import (
    DecoderBuilder,
    EncoderBuilder,
    ImageShape,
    Posterior,
    RegularizerBuilder,
    make_decoder,
    make_encoder,
)
from dislab.functional.checks import MOST_LATENTS, check_count
from dislab.functional.likelihoods import Likelihood
from dislab.functional.noise import InputNoise, check_input_noise
from dislab.functional.pairs import PairDivergence, mean_of_gaussians
from dislab.objectives._pair_objective import PairObjective
from dislab.objectives._pairs import PairLabels
from dislab.objectives._variational import Pixels, build_regularizers


@final
class AdaGVAE(PairObjective):
    """Weak supervision by pairs: shared latents get the mean of means and of variances.

    A latent is shared by the two images of a pair where its two posteriors are closer than halfway
    between the closest and the farthest; both images then use the mean of the two means
    and of the two variances. Regularisers apply to both images, and their penalties are averaged.

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
        kl: Distance of two posteriors: KL(first ‖ second), or the mean of both directions.
        labels: `none` finds the shared latents; `known` reads from the batch which factors changed:
            latent j belongs to factor j, and only latents beyond the factors are searched.
        likelihood: Distribution of the pixels around the decoder's output.
        input_noise: Standard deviations of the noise that the encoder alone sees in training, in
            pixels of [0, 1]: of each subpixel, and of a 16 times coarser grid over all channels.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, stepped once an optimiser step.

    Raises:
        InputError: There is no latent, no regulariser or one with a name that cannot be, or a
            part refuses its settings.
    """

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
        self.regularizers = build_regularizers(regularizers, latent_dim, train_size, "AdaGVAE")

    def common(self, first: Posterior, second: Posterior) -> Posterior:
        """The means of the two means and of the two variances.

        Args:
            first: Posteriors of the first images.
            second: Posteriors of the second images.
        """
        return Posterior(*mean_of_gaussians(*first, *second))
