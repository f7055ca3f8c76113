"""Joint VAE of images and symbols that also learns from either alone."""

from typing import final

import torch
from jaxtyping import Float, Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor, nn
from torch.func import functional_call

from dislab.base import (
    DecoderBuilder,
    Draws,
    EncoderBuilder,
    ImageShape,
    Posterior,
    SymbolBatch,
    Terms,
    make_decoder,
    make_encoder,
)
from dislab.functional.checks import MOST_LATENTS, check_count
from dislab.functional.gaussians import kl_per_latent, sample
from dislab.functional.likelihoods import Likelihood
from dislab.functional.symbols import symbol_negative_log_likelihood
from dislab.objectives._inputs import checked_images, checked_rows
from dislab.objectives._perceptron import perceptron
from dislab.objectives._symbol_networks import (
    AttributeExperts,
    JointEncoder,
    count_symbols,
)
from dislab.objectives._symbol_objective import SymbolObjective
from dislab.objectives._variational import Pixels, posterior_of


@final
class TELBO(SymbolObjective):
    """Triple ELBO: a VAE of images and symbols together, of images alone and of symbols alone.

    With `experts` the posterior of a description is the prior times one Gaussian for each attribute
    that it names, so that attributes it leaves open change nothing. With `joint_decoders` the
    decoders learn from the joint term alone, and the other two train their encoders. Codes are the
    means of the posteriors of images alone.

    Vedantam et al. (2018), https://arxiv.org/abs/1705.10762, eq. 4 and §3.2. Departure: a
    description's likelihood counts all attributes, those that it leaves open as not named.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        symbol_names: Names of the attributes; the command line takes them from the data.
        latent_dim: Number of latents.
        encoder: Makes the encoders of images: alone, and for the joint posterior.
        decoder: Makes the decoder of images.
        hidden: Units of each hidden layer of the networks over symbols, and of the layers that
            join the features of an image with a symbol.
        experts: Whether a description's posterior is a product of its attributes' Gaussians.
        joint_decoders: Whether the decoders learn from the joint term alone.
        likelihood: How pixels are distributed around the decoder's output.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, stepped once an optimiser step.

    Raises:
        InputError: There is no symbol or no latent, or a part refuses its settings.
    """

    def __init__(
        self,
        image_shape: ImageShape,
        symbol_names: tuple[str, ...],
        latent_dim: int,
        encoder: EncoderBuilder,
        decoder: DecoderBuilder,
        hidden: tuple[int, ...] = (100,),
        experts: bool = True,
        joint_decoders: bool = True,
        likelihood: Likelihood = "bernoulli",
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        check_count("latent_dim", latent_dim, 1, MOST_LATENTS)
        symbols = count_symbols(symbol_names, "TELBO")
        self.image_shape = image_shape
        self.symbol_names = tuple(symbol_names)
        self.latent_dim = latent_dim
        self.joint_decoders = joint_decoders
        self.pixels = Pixels(likelihood)
        self.encoder = make_encoder(encoder, image_shape, 2 * latent_dim)
        self.decoder = make_decoder(decoder, latent_dim, image_shape)
        self.symbol_encoder = (
            AttributeExperts(symbols, latent_dim)
            if experts
            else perceptron(symbols, hidden, 2 * latent_dim)
        )
        self.symbol_decoder = perceptron(latent_dim, hidden, symbols)
        self.joint = JointEncoder(encoder, image_shape, symbols, hidden, 2 * latent_dim)

    def draw(self, count: int, generator: torch.Generator) -> Draws:
        """Standard normal noise for each of the three terms; `sym2img` takes the first."""
        size = count, self.latent_dim
        return {
            name: torch.randn(size, generator=generator, device=generator.device)
            for name in ("noise", "image_noise", "symbol_noise")
        }

    def losses(self, batch: SymbolBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """−ELBO(image, symbol) − ELBO(image) − ELBO(symbol)."""
        joint = posterior_of(self.joint(batch.image, batch.symbol))
        z = sample(*joint, draws["noise"])
        both = (
            self.pixels(self.decoder(z), batch.image)
            + symbol_negative_log_likelihood(self.symbol_decoder(z), batch.symbol)
            + kl_per_latent(*joint).sum(1).mean()
        )
        seen, said = self.encode(batch.image), self.encode_symbol(batch.symbol)
        drawn = self._alone(self.decoder, sample(*seen, draws["image_noise"]))
        kl = kl_per_latent(*seen).sum(1).mean()
        image = self._alone(self.pixels, drawn, batch.image) + kl
        named = self._alone(self.symbol_decoder, sample(*said, draws["symbol_noise"]))
        symbol = (
            symbol_negative_log_likelihood(named, batch.symbol) + kl_per_latent(*said).sum(1).mean()
        )
        return Terms(both + image + symbol, {"joint": both, "image": image, "symbol": symbol})

    def _alone(self, part: nn.Module, *inputs: Tensor) -> Tensor:
        """A part of a decoder in a term of one kind alone, which may not train it."""
        weights: dict[str, Tensor] = dict(part.named_parameters())
        if self.joint_decoders:
            weights = {name: weight.detach() for name, weight in weights.items()}
        output: Tensor = functional_call(part, weights, inputs)
        return output

    def encode(self, image: Float[Tensor, "batch channel height width"]) -> Posterior:
        """The posteriors q(z|x) of images alone, in float32 or wider."""
        return posterior_of(self.encoder(checked_images(self, image, self.image_shape)))

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images, pixels in [0, 1]."""
        return self.pixels.mean(self.decoder(checked_rows(self, "z", z, self.latent_dim, "latent")))
