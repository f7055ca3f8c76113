"""Quantised-latent autoencoder."""

import math
from functools import partial
from typing import Any, ClassVar, final

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
    Terms,
    make_decoder,
    make_encoder,
)
from dislab.functional.checks import check_at_least
from dislab.functional.losses import Likelihood, mean_image, negative_log_likelihood
from dislab.functional.streams import Stream
from dislab_qlae.quantization import Snapped, even_values, snap, snapping_losses, values_in_use


@final
class QLAE(Objective):
    """Autoencoder whose latents each take one of a few learned scalar values.

    Hsu et al. (2023), https://arxiv.org/abs/2305.18378, section 3. Each output of the encoder is
    quantised to the nearest value of its own codebook; the decoder receives the values, and its
    gradient passes straight through the quantisation to the encoder. Codes are the values: there is
    no posterior and no noise. Strong weight decay of encoder and decoder is part of the method: the
    optimiser's decay applies to their weights, but not to biases or codebooks.

    The paper weights means over pixels and latents. Here all terms are in nats per image: the loss
    is the paper's times the number of subpixels, and so the two distances are multiplied by that
    number.

    Departures from the paper: any encoder and decoder instead of the paper's networks with a
    StyleGAN-like decoder; gradients are clipped only if the trainer is configured to do so.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        latent_dim: Number of latents; the paper uses twice the number of factors.
        encoder: Makes the encoder, with one output per latent.
        decoder: Makes the decoder.
        values: Number of values in each latent's codebook, initially evenly spaced from −½ to ½.
        quantize: Weight of the distance that pulls values towards latents, as in the paper.
        commit: Weight of the distance that pulls latents towards values, as in the paper.
        likelihood: Distribution of the pixels around the decoder's output.
        optimizer: Makes the optimiser; None is the paper's AdamW with a learning rate of 1e-3 and
            a weight decay of 0.1.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: There are no latents or fewer than two values, a weight is negative, or a part
            refuses its settings.
    """

    code_noise: ClassVar[tuple[str, ...] | None] = ()

    def __init__(
        self,
        image_shape: ImageShape,
        latent_dim: int,
        encoder: EncoderBuilder,
        decoder: DecoderBuilder,
        values: int = 10,
        quantize: float = 0.01,
        commit: float = 0.01,
        likelihood: Likelihood = "bernoulli",
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        paper = partial(torch.optim.AdamW, lr=1e-3, weight_decay=0.1)
        super().__init__(optimizer or paper, scheduler)
        self.save_hyperparameters()
        check_at_least("latent_dim", latent_dim, 1)
        check_at_least("values", values, 2)
        check_at_least("quantize", quantize, 0)
        check_at_least("commit", commit, 0)
        self.quantize = quantize
        self.commit = commit
        self.subpixels = math.prod(image_shape)
        self.likelihood: Likelihood = likelihood
        self.encoder = make_encoder(encoder, image_shape, latent_dim)
        self.decoder = make_decoder(decoder, latent_dim, image_shape)
        self.values = nn.Parameter(even_values(latent_dim, values))

    def draw(self, count: int, stream: Stream) -> Draws:
        """Draws nothing, as the method is deterministic."""
        return {}

    def losses(self, batch: ImageBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """Negative log-likelihood given the values, plus the two weighted distances.

        Logs `reconstruction`, the distances `quantize` and `commit` as unweighted means over
        latents, and `values_in_use`, the number of different values in the batch, averaged over
        latents.
        """
        z = self.encoder(batch.image)
        snapped = snap(z, self.values)
        output = self.decoder(snapped.straight)
        reconstruction = negative_log_likelihood(output, batch.image, self.likelihood)
        quantize, commit = snapping_losses(z, snapped.value)
        weighted = self.quantize * quantize + self.commit * commit
        log = {
            "reconstruction": reconstruction,
            "quantize": quantize,
            "commit": commit,
            "values_in_use": values_in_use(snapped.number, self.values.shape[1]),
        }
        return Terms(reconstruction + self.subpixels * weighted, log)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Groups parameters: weights with the optimiser's decay, biases and codebooks without."""
        free = {
            id(parameter)
            for name, parameter in self.named_parameters()
            if parameter is self.values or name.endswith("bias")
        }
        (every,) = super().parameter_groups()
        decayed = [parameter for parameter in every["params"] if id(parameter) not in free]
        others = [parameter for parameter in every["params"] if id(parameter) in free]
        return [{"params": decayed}, {"params": others, "weight_decay": 0.0}]

    def snapped(self, image: Float[Tensor, "batch channel height width"]) -> Snapped:
        """Encodes images to values and value numbers of the latents.

        Args:
            image: Pixels in [0, 1].
        """
        return snap(self.encoder(image), self.values)

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """Encodes images to values of the latents, in float32 or wider."""
        return self.snapped(image).value

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Decodes values to mean images, pixels in [0, 1]; other numbers are not quantised."""
        return mean_image(self.decoder(z), self.likelihood)

    def reconstruct(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Reconstructs images from their codes."""
        return self.decode(self.codes(image))

    def traverse(
        self, image: Float[Tensor, "1 channel height width"]
    ) -> Float[Tensor, "latent value channel height width"]:
        """Mean images of one image's code with each latent set to each of its values in turn.

        Args:
            image: Pixels in [0, 1], a single image.
        """
        latents, count = self.values.shape
        code = self.codes(image).expand(latents, count, latents)
        diagonal = torch.eye(latents, dtype=torch.bool, device=code.device)[:, None]
        ascending = self.values.to(code.dtype).sort(1).values[:, :, None]
        moved = torch.where(diagonal, ascending, code)
        return torch.stack([self.decode(rows) for rows in moved])
