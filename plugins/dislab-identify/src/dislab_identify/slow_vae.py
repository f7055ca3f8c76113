"""Slow variational autoencoder."""

from typing import Any, ClassVar, Literal, final, get_args

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
    Terms,
    TransitionBatch,
    make_decoder,
    make_encoder,
)
from dislab.functional.checks import check_above, check_at_least, check_choice
from dislab.functional.losses import (
    Likelihood,
    kl_per_latent,
    mean_image,
    negative_log_likelihood,
    sample,
)
from dislab.functional.streams import Stream
from dislab_identify._shared import check_latents, posterior_of
from dislab_identify.densities import gaussian_entropy, laplace_cross_entropy
from dislab_identify.step_data import StepBatch

Form = Literal["kl", "code"]


@final
class SlowVAE(Objective):
    """VAE of successive images, whose latents change rarely and little.

    Klindt et al. (2021), https://arxiv.org/abs/2007.10930: the prior of z_t is a Laplace
    distribution around z_(t−1), which identifies latents up to permutation and sign. The loss of a
    pair is the reconstruction of both, β KL(q_(t−1) ‖ N(0, I)), and
    γ E KL(q_t ‖ Laplace(z_(t−1), 1/rate)), the last two in closed form.

    The authors' code differs from this: it applies the standard normal to both images and averages
    it, adds the cross-entropies of both directions, each around the other's mean, and subtracts the
    mean of the two entropies once. `form: code` is that loss.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        latent_dim: Number of latents.
        encoder: Makes the encoder, whose outputs are means and log variances.
        decoder: Makes the decoder.
        beta: Weight of the standard normal prior.
        gamma: Weight of the Laplace prior.
        rate: Inverse scale of the Laplace prior.
        form: `kl`, the divergence, or `code`, the loss of the authors' code.
        likelihood: Distribution of the pixels around the decoder's output.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: There are more latents than features, or a weight or the rate is out of range.
    """

    batch_types: ClassVar[tuple[type, ...]] = (StepBatch, PairBatch, TransitionBatch)
    code_noise: ClassVar[tuple[str, ...] | None] = ("noise", "second_noise")

    def __init__(
        self,
        image_shape: ImageShape,
        latent_dim: int,
        encoder: EncoderBuilder,
        decoder: DecoderBuilder,
        beta: float = 1.0,
        gamma: float = 10.0,
        rate: float = 6.0,
        form: Form = "kl",
        likelihood: Likelihood = "bernoulli",
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        check_latents("SlowVAE", latent_dim, image_shape)
        check_at_least("beta", beta, 0)
        check_at_least("gamma", gamma, 0)
        check_above("rate", rate, 0)
        check_choice("form", form, get_args(Form))
        self.latent_dim = latent_dim
        self.beta = beta
        self.gamma = gamma
        self.rate = rate
        self.form: Form = form
        self.likelihood: Likelihood = likelihood
        self.encoder = make_encoder(encoder, image_shape, 2 * latent_dim)
        self.decoder = make_decoder(decoder, latent_dim, image_shape)

    def draw(self, count: int, stream: Stream) -> Draws:
        """Standard normal noise of the codes of both images."""
        return {
            name: stream.normal(name, count, self.latent_dim) for name in ("noise", "second_noise")
        }

    def losses(self, batch: Any, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """Reconstruction of both images, plus the weighted divergences, in nats per pair."""
        before, after = self.encode(batch.image), self.encode(batch.second)
        first = self._reconstruction(before, batch.image, draws["noise"])
        second = self._reconstruction(after, batch.second, draws["second_noise"])
        kl, slow = divergences(before, after, self.rate, self.form)
        loss = first + second + self.beta * kl + self.gamma * slow
        return Terms(loss, {"reconstruction": first + second, "kl": kl, "slow": slow})

    def _reconstruction(
        self,
        posterior: Posterior,
        image: Float[Tensor, "batch channel height width"],
        noise: Float[Tensor, "batch latent"],
    ) -> Float[Tensor, ""]:
        output = self.decoder(sample(*posterior, noise))
        return negative_log_likelihood(output, image, self.likelihood)

    def encode(self, image: Float[Tensor, "batch channel height width"]) -> Posterior:
        """The posteriors of single images."""
        return posterior_of(self.encoder(image))

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """Means of the posteriors of single images."""
        return self.encode(image).mean

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images, pixels in [0, 1], or mean vectors."""
        return mean_image(self.decoder(z), self.likelihood)


def divergences(
    before: Posterior, after: Posterior, rate: float, form: Form
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """Divergences from the standard normal and from the Laplace prior, in nats per pair.

    Args:
        before: Posteriors of the first images.
        after: Posteriors of the second ones.
        rate: Inverse scale of the Laplace distribution.
        form: `kl`: KL(q_(t−1) ‖ N(0, I)) and the mean of KL(q_t ‖ Laplace(z, 1/rate)) over
            z ~ q_(t−1); or `code`, as in the authors' code.
    """
    gap = after.mean - before.mean
    if form == "kl":
        # the difference of independent Gaussians has the sum of their variances
        spread = torch.logaddexp(before.log_var, after.log_var)
        cross = laplace_cross_entropy(gap, spread, rate) - gaussian_entropy(after.log_var)
        return kl_per_latent(*before).sum(1).mean(), cross.sum(1).mean()
    normal = 0.5 * (kl_per_latent(*before) + kl_per_latent(*after))
    cross = laplace_cross_entropy(gap, before.log_var, rate) + laplace_cross_entropy(
        gap, after.log_var, rate
    )
    entropy = 0.5 * (gaussian_entropy(before.log_var) + gaussian_entropy(after.log_var))
    return normal.sum(1).mean(), (cross - entropy).sum(1).mean()
