"""Variational autoencoder with named regularisers."""

from typing import final

from jaxtyping import Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor

from dislab.base import (
    DecoderBuilder,
    Draws,
    EncoderBuilder,
    ImageBatch,
    ImageShape,
    RegularizerBuilder,
    Terms,
    make_decoder,
    make_encoder,
)
from dislab.functional.checks import MOST_LATENTS, check_count
from dislab.functional.losses import Likelihood, sample
from dislab.functional.noise import InputNoise, check_input_noise, draw_input_noise
from dislab.functional.streams import Stream
from dislab.objectives._variational import (
    Pixels,
    VariationalObjective,
    build_regularizers,
    draw_codes,
    labelled_posteriors,
    penalize,
    with_auxiliary,
    with_input_noise,
)


@final
class VAE(VariationalObjective):
    """Variational autoencoder: reconstruction plus named regularisers of the codes.

    With only `KL` it is the VAE or β-VAE; with `CapacityKL` the annealed VAE; with `KL` and
    `TotalCorrelation` FactorVAE; with `DecomposedKL` β-TCVAE; with `KL` and `DIP` DIP-VAE.
    Each also learns from labels of a few images, with `LabelFit`.

    Kingma & Welling (2014), https://arxiv.org/abs/1312.6114, eq. 10.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        train_size: Size of the training set; the command line takes it from the data.
        latent_dim: Number of latents.
        encoder: Makes the encoder, whose outputs are means and log variances.
        decoder: Makes the decoder.
        regularizers: Makes the regularisers, by their names in the log.
        likelihood: Distribution of the pixels around the decoder's output.
        input_noise: Standard deviations of the noise on the encoder's input in training, for pixels
            in [0, 1]: on each pixel and channel, and on a 16 times coarser grid common to all
            channels.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: There are no latents, a regulariser is missing or has an invalid name, or a
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
        self.input_noise = input_noise
        self.encoder = make_encoder(encoder, image_shape, 2 * latent_dim)
        self.decoder = make_decoder(decoder, latent_dim, image_shape)
        self.pixels = Pixels(likelihood)
        self.regularizers = build_regularizers(regularizers, latent_dim, train_size, "a VAE")

    def draw(self, count: int, stream: Stream) -> Draws:
        """Noise of the codes, draws of each regulariser, and in training the input noise."""
        draws = draw_codes(count, self.latent_dim, self.regularizers, stream)
        if self.training and any(self.input_noise):
            draws |= draw_input_noise(count, self.image_shape, stream)
        return draws

    def losses(self, batch: ImageBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """Negative log likelihood plus every regulariser's penalty and auxiliary loss.

        The log holds the sum without auxiliary losses as `objective`.
        """
        posterior = self.encode(with_input_noise(batch.image, draws, self.input_noise))
        z = sample(*posterior, draws["noise"])
        reconstruction = self.pixels(self.decoder(z), batch.image)
        labelled = labelled_posteriors(self, self.regularizers, batch.labelled)
        penalty, auxiliary, terms = penalize(self.regularizers, posterior, z, draws, step, labelled)
        objective = reconstruction + penalty
        log = {"reconstruction": reconstruction, **terms, "objective": objective}
        return Terms(with_auxiliary(objective, auxiliary), log)
