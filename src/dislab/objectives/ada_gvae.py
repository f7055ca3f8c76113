"""Ada-GVAE: learning from pairs of images, whose shared latents are averaged."""

from typing import final

from dislab.base import Posterior
from dislab.functional.pairs import mean_of_gaussians
from dislab.objectives._pairs import PairObjective


@final
class AdaGVAE(PairObjective):
    """Weak supervision by pairs: shared latents get the mean of both means and variances.

    A latent is shared by the two images of a pair if the divergence of its two posteriors is below
    the midpoint between the pair's smallest and largest divergence; both images then use the mean
    of the two means and of the two variances. Regularisers apply to both images, and their
    penalties are averaged.

    Locatello et al. (2020), https://arxiv.org/abs/2002.02886, section 4.2. Departures: the
    divergence is symmetric unless `kl` says `forward`, as in Dittadi et al. (2021),
    https://arxiv.org/abs/2010.14407; with `labels: known`, latents beyond the factors are tested
    for sharing, which the reference code treats as shared.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        train_size: Size of the training set; the command line takes it from the data.
        latent_dim: Number of latents.
        encoder: Makes the encoder, whose outputs are means and log variances.
        decoder: Makes the decoder.
        regularizers: Makes the regularisers, by their names in the log.
        kl: Distance of two posteriors: KL(first ‖ second), or the mean of both directions.
        labels: `none` infers the shared latents; `known` reads the changed factors from the batch:
            latent j belongs to factor j, and sharing is inferred only for latents beyond the
            factors.
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

    def common(self, first: Posterior, second: Posterior) -> Posterior:
        """The means of the two means and of the two variances."""
        return Posterior(*mean_of_gaussians(*first, *second))
