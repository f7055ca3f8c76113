"""β-VAE that compares images in the features of a denoising autoencoder."""

from typing import Literal, final

from jaxtyping import Float, Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor

from dislab.base import (
    DecoderBuilder,
    Draws,
    EncoderBuilder,
    ImageBatch,
    ImageShape,
    Objective,
    Posterior,
    RegularizerBuilder,
    Terms,
    make_decoder,
    make_encoder,
)
from dislab.errors import InputError
from dislab.functional.checks import MOST_LATENTS, check_at_least, check_count
from dislab.functional.losses import kl_per_latent, mean_image, sample
from dislab.functional.runtime import full_precision
from dislab.functional.streams import Stream
from dislab.objectives._frozen import Frozen
from dislab.objectives._variational import (
    build_further_regularizers,
    checked_images,
    checked_rows,
    draw_codes,
    labelled_posteriors,
    penalize,
    posterior_of,
    with_auxiliary,
)


@full_precision
def feature_distance(
    first: Float[Tensor, "batch feature"], second: Float[Tensor, "batch feature"]
) -> Float[Tensor, ""]:
    """Half the squared distance of feature vectors, summed over features, averaged over the batch.

    It equals −log N(first; second, 1) without the constant, in nats per image.

    Args:
        first: One vector per image.
        second: Likewise.
    """
    return 0.5 * (first - second).square().sum(1).mean()


Output = Literal["bernoulli", "gaussian"]
"""Meaning of the decoder's output: logits of the pixels, or the pixels themselves."""


@final
class BetaVAEDAE(Objective):
    """β-VAE whose reconstruction error is a distance in the feature space of a frozen network.

    The network is trained in advance, by a run of `DenoisingAutoencoder`; its codes of the image
    and of the reconstruction are compared. Pixels that do not affect these codes count little. The
    run stores a copy of the network, so that the other run is needed only at the start.

    Higgins et al. (2017), DARLA, https://arxiv.org/abs/1707.08475, eq. 2. The features are the
    autoencoder's bottleneck.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        latent_dim: Number of latents.
        encoder: Makes the encoder, whose outputs are means and log variances.
        decoder: Makes the decoder.
        dae: Folder of a run of the denoising autoencoder, such as runs/dae/version_0; in a
            checkpoint, the settings of that model are here instead.
        beta: Weight of the KL divergence from the prior.
        likelihood: Meaning of the decoder's output: `bernoulli` as logits of the pixels,
            `gaussian` as the pixels themselves.
        regularizers: Makes further regularisers, by their names in the log, such as a fit to
            labels; none unless given.
        train_size: Size of the training set, for regularisers; the command line takes it from the
            data.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: The run is missing, has another image shape or a method without codes, a number
            is out of range, or a part refuses its settings.
    """

    def __init__(
        self,
        image_shape: ImageShape,
        latent_dim: int,
        encoder: EncoderBuilder,
        decoder: DecoderBuilder,
        dae: str | dict[str, str],
        beta: float = 1.0,
        likelihood: Output = "bernoulli",
        regularizers: dict[str, RegularizerBuilder] | None = None,
        train_size: int | None = None,
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        check_count("latent_dim", latent_dim, 1, MOST_LATENTS)
        check_at_least("beta", beta, 0)
        self.image_shape = image_shape
        self.latent_dim = latent_dim
        self.beta = beta
        self.likelihood: Output = likelihood
        self.features = Frozen(dae, "dae", image_shape)
        if not self.features.model.has_codes:
            name = type(self.features.model).__name__
            raise InputError(f"the dae run is of {name}, which has no codes to compare images in")
        self.hparams["dae"] = self.features.stored
        self.encoder = make_encoder(encoder, image_shape, 2 * latent_dim)
        self.decoder = make_decoder(decoder, latent_dim, image_shape)
        self.regularizers = build_further_regularizers(
            regularizers, latent_dim, train_size, "BetaVAEDAE"
        )

    def on_fit_start(self) -> None:
        """Refuses a frozen network without weights."""
        self.features.check()

    def draw(self, count: int, stream: Stream) -> Draws:
        """Standard normal noise, then the draws of each regulariser, under `regulariser.name`."""
        return draw_codes(count, self.latent_dim, self.regularizers, stream)

    def losses(self, batch: ImageBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """½‖J(x̂) − J(x)‖² plus beta times the KL; J gives the frozen network's codes.

        Penalties and auxiliary losses of further regularisers are added.
        """
        posterior = self.encode(batch.image)
        z = sample(*posterior, draws["noise"])
        output = self.decoder(z)
        # not `decode`, which clips Gaussian means to [0, 1], so that gradients vanish outside
        decoded = output.sigmoid() if self.likelihood == "bernoulli" else output
        feature = self.features.model.codes
        reconstruction = feature_distance(feature(decoded), feature(batch.image))
        kl = kl_per_latent(*posterior).sum(1).mean()
        objective = reconstruction + self.beta * kl
        log = {"reconstruction": reconstruction, "kl": kl}
        if not self.regularizers:
            return Terms(objective, log)
        labelled = labelled_posteriors(self, self.regularizers, batch.labelled)
        penalty, auxiliary, terms = penalize(self.regularizers, posterior, z, draws, step, labelled)
        return Terms(with_auxiliary(objective + penalty, auxiliary), log | terms)

    def encode(self, image: Float[Tensor, "batch channel height width"]) -> Posterior:
        """The posteriors q(z|x), in float32 or wider."""
        return posterior_of(self.encoder(checked_images(self, image, self.image_shape)))

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """Means of the posteriors."""
        return self.encode(image).mean

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images, pixels in [0, 1]."""
        z = checked_rows(self, "z", z, self.latent_dim, "latent")
        return mean_image(self.decoder(z), self.likelihood)
