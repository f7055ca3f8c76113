"""Joint VAE of images and symbols with unimodal ELBO terms."""

from typing import ClassVar, Literal, final

from jaxtyping import Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor, nn
from torch.func import functional_call

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
from dislab.functional.losses import Likelihood, kl_per_latent, sample
from dislab.functional.networks import perceptron
from dislab.functional.streams import Stream
from dislab.functional.symbols import symbol_negative_log_likelihood
from dislab.objectives._symbols import (
    AttributeExperts,
    JointEncoder,
    SymbolObjective,
    count_symbols,
)
from dislab.objectives._variational import Pixels, VariationalObjective, posterior_of

Stopped = Literal["image", "symbol"]


@final
class TELBO(SymbolObjective, VariationalObjective):
    """Triple ELBO: a joint VAE of images and symbols, with terms for images and symbols alone.

    With `experts`, the posterior of a description is the product of the prior and one Gaussian for
    each attribute that it names, so that open attributes have no effect. With `joint_decoders`,
    decoders learn only from the joint term, and the unimodal terms train only their encoders. Codes
    are the means of the posteriors of images alone.

    Vedantam et al. (2018), https://arxiv.org/abs/1705.10762, eq. 4 and §3.2, and the authors' code,
    https://github.com/google/joint_vae. By default in that code, log p(symbol | z) has weight 50,
    and decoders learn from all terms; its scripts for held-out combinations of attributes set 50 in
    both terms and `joint_decoders` for both. Departures: the weight in ELBO(symbol) defaults to
    that of the joint term, as in these scripts, while the default of the code's flag is 1; the
    likelihood of a description includes all attributes, with open ones as not named, while the
    authors have one categorical variable per factor.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        symbol_names: Names of the attributes; the command line takes them from the data.
        latent_dim: Number of latents.
        encoder: Makes the encoders of images: alone, and for the joint posterior.
        decoder: Makes the decoder of images.
        hidden: Units of each hidden layer of the networks over symbols, and of the layers that
            join the features of an image with a symbol.
        experts: Whether a description's posterior is a product of its attributes' Gaussians.
        joint_decoders: Decoders that learn only from the joint term: true for both, false for none,
            `image` or `symbol` for one of them.
        symbol_weight: Weight of log p(symbol | z) in ELBO(image, symbol).
        symbol_alone_weight: Weight of log p(symbol | z) in ELBO(symbol); symbol_weight unless
            given.
        likelihood: Distribution of the pixels around the decoder's output.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: There is no symbol or no latent, a weight is negative, or a part refuses its
            settings.
    """

    code_noise: ClassVar[tuple[str, ...] | None] = ("noise", "image_noise", "symbol_noise")

    def __init__(
        self,
        image_shape: ImageShape,
        symbol_names: tuple[str, ...],
        latent_dim: int,
        encoder: EncoderBuilder,
        decoder: DecoderBuilder,
        hidden: tuple[int, ...] = (100,),
        experts: bool = True,
        joint_decoders: bool | Stopped = False,
        symbol_weight: float = 50.0,
        symbol_alone_weight: float | None = None,
        likelihood: Likelihood = "bernoulli",
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        check_count("latent_dim", latent_dim, 1, MOST_LATENTS)
        alone = symbol_weight if symbol_alone_weight is None else symbol_alone_weight
        check_at_least("symbol_weight", symbol_weight, 0)
        check_at_least("symbol_alone_weight", alone, 0)
        symbols = count_symbols(symbol_names, "TELBO")
        self.image_shape = image_shape
        self.symbol_names = tuple(symbol_names)
        self.latent_dim = latent_dim
        self.joint_decoders = joint_decoders
        self.symbol_weight, self.symbol_alone_weight = symbol_weight, alone
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

    def draw(self, count: int, stream: Stream) -> Draws:
        """Standard normal noise for each of the three terms; `sym2img` takes the first."""
        return {
            name: stream.normal(name, count, self.latent_dim)
            for name in ("noise", "image_noise", "symbol_noise")
        }

    def losses(self, batch: SymbolBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """−ELBO(image, symbol) − ELBO(image) − ELBO(symbol), with weighted log p(symbol | z)."""
        joint = posterior_of(self.joint(batch.image, batch.symbol))
        z = sample(*joint, draws["noise"])
        said_of_both = symbol_negative_log_likelihood(self.symbol_decoder(z), batch.symbol)
        both = (
            self.pixels(self.decoder(z), batch.image)
            + self.symbol_weight * said_of_both
            + kl_per_latent(*joint).sum(1).mean()
        )
        of_image, of_symbol = self.encode(batch.image), self.encode_symbol(batch.symbol)
        stopped = self.joint_decoders in (True, "image")
        decoded = _applied(self.decoder, stopped, sample(*of_image, draws["image_noise"]))
        kl = kl_per_latent(*of_image).sum(1).mean()
        image = _applied(self.pixels, stopped, decoded, batch.image) + kl
        stopped = self.joint_decoders in (True, "symbol")
        symbol_logits = _applied(
            self.symbol_decoder, stopped, sample(*of_symbol, draws["symbol_noise"])
        )
        symbol = (
            self.symbol_alone_weight * symbol_negative_log_likelihood(symbol_logits, batch.symbol)
            + kl_per_latent(*of_symbol).sum(1).mean()
        )
        return Terms(both + image + symbol, {"joint": both, "image": image, "symbol": symbol})


def _applied(part: nn.Module, stopped: bool, *inputs: Tensor) -> Tensor:
    """The output of a part, without gradients to its weights if `stopped`."""
    weights: dict[str, Tensor] = dict(part.named_parameters())
    if stopped:
        weights = {name: weight.detach() for name, weight in weights.items()}
    output: Tensor = functional_call(part, weights, inputs)
    return output
