"""Identifiable variational autoencoder."""

from functools import partial
from typing import ClassVar, final

import torch
from jaxtyping import Float, Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor, nn

from dislab.base import (
    DecoderBuilder,
    Draws,
    EncoderBuilder,
    ImageBatch,
    ImageShape,
    Objective,
    Posterior,
    Terms,
    make_decoder,
    make_encoder,
)
from dislab.functional.checks import check_above
from dislab.functional.losses import kl_between, sample
from dislab.functional.streams import Stream
from dislab_identify._shared import auxiliary_column, check_latents, posterior_of
from dislab_identify.densities import gaussian_reconstruction


@final
class IVAE(Objective):
    """VAE whose prior depends on an observed factor: p(z|u) = N(0, v(u)).

    Khemakhem et al. (2020), https://arxiv.org/abs/1907.04809: with enough values of u the latents
    are identified up to permutation and scale. The loss is −E log p(x|z) + KL(q(z|x,u) ‖ p(z|u)).

    Departures from the authors' code: its encoder reads x and u. Here the encoder reads x only, and
    its Gaussian is multiplied by the prior, q(z|x,u) ∝ N(z; m(x), s(x)) p(z|u), which has the form
    of the true posterior, so that codes m(x) need no u. The KL is in closed form, v(u) a table with
    one row for each value of u, and the learning rate has no schedule unless `scheduler` is given.

    Args:
        image_shape: Number of features, 1, 1; the command line takes it from the data.
        factor_names: Names of the factors; the command line takes them from the data.
        factor_sizes: Numbers of their values; likewise.
        latent_dim: Number of latents.
        encoder: Makes the encoder, whose outputs are means and log variances.
        decoder: Makes the decoder.
        auxiliary: Name of the factor u.
        variance: Variance of the Gaussian likelihood.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-3.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: There are more latents than features, no such factor, or one of a single value,
            or the variance is not positive.
    """

    code_noise: ClassVar[tuple[str, ...] | None] = ("noise",)

    def __init__(
        self,
        image_shape: ImageShape,
        factor_names: tuple[str, ...],
        factor_sizes: tuple[int, ...],
        latent_dim: int,
        encoder: EncoderBuilder,
        decoder: DecoderBuilder,
        auxiliary: str = "segment",
        variance: float = 0.01,
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer or partial(torch.optim.Adam, lr=1e-3), scheduler)
        self.save_hyperparameters()
        check_latents("IVAE", latent_dim, image_shape)
        check_above("variance", variance, 0)
        self.column = auxiliary_column("IVAE", auxiliary, factor_names, factor_sizes)
        self.latent_dim = latent_dim
        self.variance = variance
        self.encoder = make_encoder(encoder, image_shape, 2 * latent_dim)
        self.decoder = make_decoder(decoder, latent_dim, image_shape)
        self.prior_log_var = nn.Parameter(torch.zeros(factor_sizes[self.column], latent_dim))

    def draw(self, count: int, stream: Stream) -> Draws:
        """Standard normal noise of the codes."""
        return {"noise": stream.normal("noise", count, self.latent_dim)}

    def losses(self, batch: ImageBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """Negative log likelihood plus the KL divergence from the conditional prior."""
        prior = self.prior_log_var[batch.factors[:, self.column]]
        posterior = combined(self.encode(batch.image), prior)
        z = sample(*posterior, draws["noise"])
        reconstruction = gaussian_reconstruction(self.decoder(z), batch.image, self.variance)
        kl = kl_between(*posterior, torch.zeros_like(prior), prior).sum(1).mean()
        return Terms(reconstruction + kl, {"reconstruction": reconstruction, "kl": kl})

    def encode(self, image: Float[Tensor, "batch channel height width"]) -> Posterior:
        """The encoder's Gaussians, without the prior.

        Args:
            image: Vectors, or images.
        """
        return posterior_of(self.encoder(image))

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """Means of the encoder's Gaussians."""
        return self.encode(image).mean

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Means of p(x|z)."""
        decoded: Tensor = self.decoder(z)
        return decoded


def combined(message: Posterior, prior_log_var: Float[Tensor, "batch latent"]) -> Posterior:
    """The normalised product of Gaussians and of N(0, exp(prior_log_var)).

    Args:
        message: The Gaussians.
        prior_log_var: Logarithms of the prior's variances.
    """
    log_var = -torch.logaddexp(-message.log_var, -prior_log_var)
    return Posterior(message.mean * (log_var - message.log_var).exp(), log_var)
