"""Variational autoencoder with named regularisers."""

from collections.abc import Iterator
from typing import cast, final

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
    Regularizer,
    RegularizerBuilder,
    Terms,
)
from dislab.errors import InputError
from dislab.functional.checks import check_at_least
from dislab.functional.gaussians import sample
from dislab.functional.likelihoods import Likelihood, mean_image, negative_log_likelihood


@final
class VAE(Objective):
    """Variational autoencoder: reconstruction plus named regularisers of the codes.

    With `KL` alone it is the VAE or β-VAE; with `CapacityKL` the annealed VAE; with `KL` and
    `TotalCorrelation` FactorVAE; with `DecomposedKL` β-TCVAE; with `KL` and `DIP` DIP-VAE.

    Kingma & Welling (2014), https://arxiv.org/abs/1312.6114, eq. 10.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        train_size: Size of the training set; the command line takes it from the data.
        latent_dim: Number of latents.
        encoder: Makes the encoder, whose outputs are means and log variances.
        decoder: Makes the decoder.
        regularizers: Makes the regularisers, by the name they have in the log.
        likelihood: How pixels are distributed around the decoder's output.
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
        likelihood: Likelihood = "bernoulli",
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        check_at_least("latent_dim", latent_dim, 1)
        if not regularizers:
            raise InputError("a VAE needs a regulariser, such as kl: KL; without it codes are free")
        for name in regularizers:
            if not name.isidentifier() or hasattr(nn.ModuleDict, name):
                raise InputError(f"{name!r} cannot name a regulariser; choose another name")
        self.latent_dim = latent_dim
        self.likelihood: Likelihood = likelihood
        self.encoder = encoder(image_shape, 2 * latent_dim)
        self.decoder = decoder(latent_dim, image_shape)
        built = {name: make(latent_dim, train_size) for name, make in regularizers.items()}
        self.regularizers = nn.ModuleDict(built)

    def draw(self, count: int, generator: torch.Generator) -> Draws:
        """Standard normal noise, then what each regulariser needs, under `regulariser.name`."""
        device = generator.device
        draws = {"noise": torch.randn(count, self.latent_dim, generator=generator, device=device)}
        for name, regularizer in self._named_regularizers():
            for key, drawn in regularizer.draw(count, generator).items():
                draws[f"{name}.{key}"] = drawn
        return draws

    def losses(self, batch: ImageBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """Negative log likelihood plus every regulariser's penalty and auxiliary loss.

        The log holds the sum without auxiliary losses as `objective`.
        """
        posterior = self.encode(batch.image)
        z = sample(*posterior, draws["noise"])
        objective = negative_log_likelihood(self.decoder(z), batch.image, self.likelihood)
        own_losses = torch.zeros_like(objective)
        log = {"reconstruction": objective}
        for name, regularizer in self.regularizers.items():
            own = {
                key.partition(".")[2]: rows
                for key, rows in draws.items()
                if key.startswith(f"{name}.")
            }
            penalty, auxiliary, terms = regularizer(posterior, z, own, step)
            objective = objective + penalty
            own_losses = own_losses if auxiliary is None else own_losses + auxiliary
            log |= {f"{name}/{key}": value for key, value in terms.items()}
        return Terms(objective + own_losses, log | {"objective": objective})

    def encode(self, image: Float[Tensor, "batch channel height width"]) -> Posterior:
        """The posteriors q(z|x), in float32 or wider."""
        outputs = self.encoder(image)
        if outputs.dtype in (torch.bfloat16, torch.float16):
            outputs = outputs.float()
        mean, log_var = outputs.chunk(2, dim=1)
        return Posterior(mean, log_var)

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """Means of the posteriors."""
        return self.encode(image).mean

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images, pixels in [0, 1]."""
        return mean_image(self.decoder(z), self.likelihood)

    def _named_regularizers(self) -> Iterator[tuple[str, Regularizer]]:
        for name, module in self.regularizers.items():
            yield name, cast("Regularizer", module)
