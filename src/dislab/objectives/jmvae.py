"""Joint VAE of images and symbols, with an additional encoder for each of them."""

from typing import final

from jaxtyping import Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor

from dislab.base import (
    DecoderBuilder,
    Draws,
    EncoderBuilder,
    ImageShape,
    SymbolBatch,
    Terms,
    make_decoder,
    make_encoder,
)
from dislab.functional.checks import MOST_LATENTS, check_at_least, check_count
from dislab.functional.losses import Likelihood, kl_between, kl_per_latent, sample
from dislab.functional.networks import perceptron
from dislab.functional.symbols import symbol_negative_log_likelihood
from dislab.objectives._symbols import JointEncoder, SymbolObjective, count_symbols
from dislab.objectives._variational import Pixels, VariationalObjective, posterior_of


@final
class JMVAE(SymbolObjective, VariationalObjective):
    """Joint VAE of images and symbols, whose unimodal encoders approximate the joint one.

    Codes are the means of the posteriors of images alone.

    Suzuki, Nakayama & Matsuo (2017), https://arxiv.org/abs/1611.01891, eq. 9 (JMVAE-kl). Departure:
    log p(symbol | z) has a weight, which is 1 in that equation; the default of 50 is that of the
    implementation by Vedantam et al. (2018), https://github.com/google/joint_vae, whose scripts for
    held-out combinations of attributes set alpha to 1.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        symbol_names: Names of the attributes; the command line takes them from the data.
        latent_dim: Number of latents.
        encoder: Makes the encoders of images: alone, and for the joint posterior.
        decoder: Makes the decoder of images.
        hidden: Units of each hidden layer of the networks over symbols, and of the layers that
            join the features of an image with a symbol.
        alpha: Weight of the KL divergence of the joint posterior from each unimodal one.
        symbol_weight: Weight of log p(symbol | z).
        likelihood: Distribution of the pixels around the decoder's output.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: There is no symbol or no latent, alpha or symbol_weight is negative, or a part
            refuses its settings.
    """

    def __init__(
        self,
        image_shape: ImageShape,
        symbol_names: tuple[str, ...],
        latent_dim: int,
        encoder: EncoderBuilder,
        decoder: DecoderBuilder,
        hidden: tuple[int, ...] = (100,),
        alpha: float = 0.1,
        symbol_weight: float = 50.0,
        likelihood: Likelihood = "bernoulli",
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        check_count("latent_dim", latent_dim, 1, MOST_LATENTS)
        check_at_least("alpha", alpha, 0)
        check_at_least("symbol_weight", symbol_weight, 0)
        symbols = count_symbols(symbol_names, "JMVAE")
        self.image_shape = image_shape
        self.symbol_names = tuple(symbol_names)
        self.latent_dim = latent_dim
        self.alpha = alpha
        self.symbol_weight = symbol_weight
        self.pixels = Pixels(likelihood)
        self.encoder = make_encoder(encoder, image_shape, 2 * latent_dim)
        self.decoder = make_decoder(decoder, latent_dim, image_shape)
        self.symbol_encoder = perceptron(symbols, hidden, 2 * latent_dim)
        self.symbol_decoder = perceptron(latent_dim, hidden, symbols)
        self.joint = JointEncoder(encoder, image_shape, symbols, hidden, 2 * latent_dim)

    def losses(self, batch: SymbolBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """−ELBO(image, symbol) + alpha · (KL(joint ‖ image's) + KL(joint ‖ symbol's)), weighted."""
        joint = posterior_of(self.joint(batch.image, batch.symbol))
        z = sample(*joint, draws["noise"])
        image = self.pixels(self.decoder(z), batch.image)
        symbol = symbol_negative_log_likelihood(self.symbol_decoder(z), batch.symbol)
        kl = kl_per_latent(*joint).sum(1).mean()
        singles = (self.encode(batch.image), self.encode_symbol(batch.symbol))
        apart_image, apart_symbol = (
            kl_between(*joint, *single).sum(1).mean() for single in singles
        )
        bound = image + self.symbol_weight * symbol + kl
        loss = bound + self.alpha * (apart_image + apart_symbol)
        log = {"reconstruction": image, "symbol": symbol, "kl": kl}
        return Terms(loss, log | {"image_kl": apart_image, "symbol_kl": apart_symbol})
