"""SCAN: symbols grounded in the latents of a trained vision model."""

from typing import Literal, final

import torch
from jaxtyping import Float, Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor

from dislab.base import Draws, ImageShape, Objective, Posterior, SymbolBatch, Terms
from dislab.errors import InputError
from dislab.functional.checks import check_at_least
from dislab.functional.losses import kl_between, kl_per_latent, sample
from dislab.functional.networks import perceptron
from dislab.functional.symbols import symbol_negative_log_likelihood
from dislab.objectives._frozen import Frozen
from dislab.objectives._symbols import SymbolObjective, count_symbols

Divergence = Literal["forward", "reverse"]
"""KL(q(z|image) ‖ q(z|symbol)), which covers all images of a concept, or the reverse KL
divergence."""


@final
class SCAN(SymbolObjective):
    """Variational autoencoder of symbols in the latent space of a frozen vision model.

    A symbol describes an image by some of its attributes. Its posterior is trained towards the
    posteriors of the images that it describes, so that latents left open by the description keep a
    large variance: the concept is a distribution over images. The run stores a copy of the vision
    model, so that the vision run is needed only at the start. Codes, posteriors of images and
    decoded images are those of the vision model.

    Higgins et al. (2018), https://arxiv.org/abs/1707.03389, eq. 5. With `divergence: reverse` it is
    their SCAN_R; with an entangled vision model, SCAN_U.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        symbol_names: Names of the attributes; the command line takes them from the data.
        vision: Folder of a run with encoder and decoder, such as runs/scan_vision/version_0; in a
            checkpoint, the settings of that model are here instead.
        hidden: Units of each hidden layer of the symbols' encoder and decoder.
        beta: Weight of the KL divergence of the symbols' posterior from the prior.
        grounding: Weight of the KL divergence between the posteriors of image and symbol.
        divergence: Direction of the grounding KL divergence.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: The run is missing, has another image shape or a method without encoder or
            decoder, there is no symbol, or a weight is negative.
    """

    def __init__(
        self,
        image_shape: ImageShape,
        symbol_names: tuple[str, ...],
        vision: str | dict[str, str],
        hidden: tuple[int, ...] = (100,),
        beta: float = 1.0,
        grounding: float = 10.0,
        divergence: Divergence = "forward",
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        check_at_least("beta", beta, 0)
        check_at_least("grounding", grounding, 0)
        symbols = count_symbols(symbol_names, "SCAN")
        self.symbol_names = tuple(symbol_names)
        self.beta = beta
        self.grounding = grounding
        self.divergence: Divergence = divergence
        self.vision = Frozen(vision, "vision", image_shape)
        self.hparams["vision"] = self.vision.stored
        self.latent_dim = _latents(self.vision.model, image_shape)
        self.symbol_encoder = perceptron(symbols, hidden, 2 * self.latent_dim)
        self.symbol_decoder = perceptron(self.latent_dim, hidden, symbols)

    def on_fit_start(self) -> None:
        """Refuses a vision model without weights."""
        self.vision.check()

    def losses(self, batch: SymbolBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """Negative log likelihood of the symbols, plus both weighted KL divergences."""
        image, symbol = self.encode(batch.image), self.encode_symbol(batch.symbol)
        logits = self.symbol_decoder(sample(*symbol, draws["noise"]))
        reconstruction = symbol_negative_log_likelihood(logits, batch.symbol)
        kl = kl_per_latent(*symbol).sum(1).mean()
        pair = (*image, *symbol) if self.divergence == "forward" else (*symbol, *image)
        apart = kl_between(*pair).sum(1).mean()
        loss = reconstruction + self.beta * kl + self.grounding * apart
        return Terms(loss, {"reconstruction": reconstruction, "kl": kl, "grounding": apart})

    def encode(self, image: Float[Tensor, "batch channel height width"]) -> Posterior:
        """The posteriors q(z|x) of the vision model."""
        return self.vision.model.encode(image)

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images of the vision model, pixels in [0, 1]."""
        return self.vision.model.decode(z)


def _latents(vision: Objective, image_shape: ImageShape) -> int:
    """Number of latents of the vision model; refuses a model without encoder or decoder."""
    try:
        with torch.no_grad():
            mean = vision.encode(torch.zeros(1, *image_shape)).mean
            vision.decode(mean)
    except InputError as error:
        raise InputError(f"the vision run does not fit SCAN: {error}") from error
    return mean.shape[1]
