"""Decoder of true factors through a bottleneck of controlled capacity."""

from typing import ClassVar, NoReturn, final

import torch
from jaxtyping import Float, Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor, nn

from dislab.base import (
    DecoderBuilder,
    Draws,
    ImageBatch,
    ImageShape,
    Objective,
    Posterior,
    Terms,
    make_decoder,
)
from dislab.errors import InputError
from dislab.functional.checks import check_at_least, check_count
from dislab.functional.losses import Likelihood, kl_per_latent, linear_ramp, sample
from dislab.functional.runtime import gather_rows
from dislab.functional.streams import Stream
from dislab.functional.symbols import normalized
from dislab.objectives._inputs import check_positions
from dislab.objectives._variational import Pixels, checked_rows


@final
class BottleneckGenerator(Objective):
    """Decoder of noisy true factors, which shows the factors chosen at a limited capacity in nats.

    Each factor enters as its value number divided by the last one (a continuous factor by its rank
    among the values of the data set). It is scaled, shifted and gets Gaussian noise; all three are
    learned. The KL divergence of this Gaussian from the standard normal is the cost of the factor.
    The sum of the costs is held close to a capacity that grows linearly during a run.

    Burgess et al. (2018), https://arxiv.org/abs/1804.03599, §4.2 and eq. 7. Departures: the shift,
    and the parametrisation of the noise by its log variance. The absolute value is taken of the
    mean KL divergence over the global batch.

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        factor_names: Name of each factor; the command line takes them from the data.
        factor_sizes: Number of values of each factor; the command line takes them from the data.
        decoder: Makes the decoder.
        gamma: Weight of the distance of the KL divergence from the capacity.
        start: Capacity at the first step, in nats.
        capacity: Final capacity in nats.
        steps: Optimiser steps over which the capacity rises.
        likelihood: Distribution of the pixels around the decoder's output.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: A number is negative, or the decoder refuses its settings.
    """

    has_codes: ClassVar[bool] = False
    code_noise: ClassVar[tuple[str, ...] | None] = ("noise",)
    last: Tensor

    def __init__(
        self,
        image_shape: ImageShape,
        factor_names: tuple[str, ...],
        factor_sizes: tuple[int, ...],
        decoder: DecoderBuilder,
        gamma: float = 1000.0,
        start: float = 0.5,
        capacity: float = 25.0,
        steps: int = 100_000,
        likelihood: Likelihood = "bernoulli",
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        for name, value in (("gamma", gamma), ("start", start), ("steps", steps)):
            check_at_least(name, value, 0)
        if capacity < start:
            raise InputError(f"capacity is {capacity}; it must be at least start, which is {start}")
        self.names = tuple(factor_names)
        self.sizes = tuple(factor_sizes)
        self.gamma = gamma
        self.ramp = (start, capacity, steps)
        self.pixels = Pixels(likelihood)
        self.decoder = make_decoder(decoder, len(self.names), image_shape)
        self.scale = nn.Parameter(torch.ones(len(self.names)))
        self.shift = nn.Parameter(torch.full((len(self.names),), -0.5))  # centres the inputs at 0
        self.log_var = nn.Parameter(torch.zeros(len(self.names)))
        self.register_buffer("last", torch.tensor(self.sizes) - 1.0, persistent=False)

    def draw(self, count: int, stream: Stream) -> Draws:
        """Standard normal noise."""
        return {"noise": stream.normal("noise", count, len(self.names))}

    def losses(self, batch: ImageBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """Negative log likelihood plus gamma · |mean KL − C(step)|; logs each factor's KL."""
        posterior = self.bottleneck(batch.factors)
        output = self.decoder(sample(*posterior, draws["noise"]))
        reconstruction = self.pixels(output, batch.image)
        per_factor = gather_rows(kl_per_latent(*posterior)).mean(0)
        kl = per_factor.sum()
        capacity = linear_ramp(step, *self.ramp)
        log = {"reconstruction": reconstruction, "kl": kl, "capacity": capacity}
        log |= {f"kl/{name}": per_factor[index] for index, name in enumerate(self.names)}
        return Terms(reconstruction + self.gamma * (kl - capacity).abs(), log)

    def bottleneck(self, factors: Int[Tensor, "batch factor"]) -> Posterior:
        """The Gaussian of each factor of each image.

        Args:
            factors: Positions: value numbers.
        """
        mean = self.scale * normalized(factors, self.last) + self.shift
        return Posterior(mean, self.log_var.expand_as(mean))

    def codes(self, image: Float[Tensor, "batch channel height width"]) -> NoReturn:
        """Raises an error, because the method has no codes.

        Raises:
            InputError: Always.
        """
        raise InputError(
            "BottleneckGenerator has no codes: it draws images from true factors and has no "
            "encoder, so there is nothing to score or to predict from"
        )

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images of bottleneck outputs, pixels in [0, 1]."""
        return self.pixels.mean(self.decoder(checked_rows(self, "z", z, len(self.names), "factor")))

    def generate(
        self, count: int, stream: Stream | int | None = None
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images of standard normal bottleneck outputs, pixels in [0, 1]."""
        check_count("count", count, 0)
        return self.decode(self.draw(count, self.prior_stream(stream))["noise"])

    def render(
        self, factors: Int[Tensor, "batch factor"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images of factors without noise, pixels in [0, 1]."""
        check_positions(factors, self.names, self.sizes)
        return self.decode(self.bottleneck(factors).mean)
