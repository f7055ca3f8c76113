"""Decoder of the true factors."""

from typing import ClassVar, NoReturn, final

import torch
from jaxtyping import Float, Int
from lightning.pytorch.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor

from dislab.base import (
    DecoderBuilder,
    Draws,
    ImageBatch,
    ImageShape,
    Objective,
    Terms,
    make_decoder,
)
from dislab.errors import InputError, suggestion
from dislab.functional.losses import Likelihood
from dislab.functional.streams import Stream
from dislab.functional.symbols import factor_inputs
from dislab.objectives._inputs import check_positions
from dislab.objectives._variational import Pixels, checked_rows


@final
class GroundTruthDecoder(Objective):
    """Decoder of the true factors, as a reference for perfectly disentangled codes.

    A factor enters as its value number divided by the last one, in [0, 1], or as a one-hot vector.
    A continuous factor enters by its rank among the values of the data set, so that only the order
    of values counts, not their distances. There is no encoder and therefore no codes; pictures
    traverse the factors themselves.

    Montero et al. (2021), https://openreview.net/forum?id=qbH974jKUVy, §2.1 ("GT decoder").

    Args:
        image_shape: Channels, height and width; the command line takes it from the data.
        factor_names: Name of each factor; the command line takes them from the data.
        factor_sizes: Number of values of each factor; the command line takes them from the data.
        decoder: Makes the decoder.
        one_hot: Names of the factors that enter as one-hot vectors.
        likelihood: Distribution of the pixels around the decoder's output.
        optimizer: Makes the optimiser; None is Adam with a learning rate of 1e-4.
        scheduler: Makes a learning-rate schedule, which advances after each optimiser step.

    Raises:
        InputError: A one-hot factor does not exist, or the decoder refuses its settings.
    """

    has_codes: ClassVar[bool] = False
    code_noise: ClassVar[tuple[str, ...] | None] = ()
    last: Tensor

    def __init__(
        self,
        image_shape: ImageShape,
        factor_names: tuple[str, ...],
        factor_sizes: tuple[int, ...],
        decoder: DecoderBuilder,
        one_hot: tuple[str, ...] = (),
        likelihood: Likelihood = "bernoulli",
        optimizer: OptimizerCallable | None = None,
        scheduler: LRSchedulerCallable | None = None,
    ) -> None:
        super().__init__(optimizer, scheduler)
        self.save_hyperparameters()
        self.names = tuple(factor_names)
        self.sizes = tuple(factor_sizes)
        self.one_hot = [_column_of(name, factor_names) for name in one_hot]
        self.pixels = Pixels(likelihood)
        self.inputs = sum(size if i in self.one_hot else 1 for i, size in enumerate(self.sizes))
        self.decoder = make_decoder(decoder, self.inputs, image_shape)
        self.register_buffer("last", torch.tensor(self.sizes) - 1.0, persistent=False)

    def draw(self, count: int, stream: Stream) -> Draws:
        """No draws: the method has no noise."""
        return {}

    def losses(self, batch: ImageBatch, draws: Draws, step: Int[Tensor, ""]) -> Terms:
        """Negative log likelihood of the images given their factors."""
        output = self.decoder(self._inputs(batch.factors))
        loss = self.pixels(output, batch.image)
        return Terms(loss, {"reconstruction": loss})

    def codes(self, image: Float[Tensor, "batch channel height width"]) -> NoReturn:
        """Raises an error, because the method has no codes.

        Raises:
            InputError: Always.
        """
        raise InputError(
            "GroundTruthDecoder has no codes: it draws images from true factors and has no "
            "encoder, so there is nothing to score or to predict from"
        )

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images of factor inputs, pixels in [0, 1]."""
        return self.pixels.mean(
            self.decoder(checked_rows(self, "z", z, self.inputs, "factor or value"))
        )

    def render(
        self, factors: Int[Tensor, "batch factor"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images of factors, pixels in [0, 1]."""
        check_positions(factors, self.names, self.sizes)
        return self.decode(self._inputs(factors))

    def _inputs(self, factors: Int[Tensor, "batch factor"]) -> Float[Tensor, "batch inputs"]:
        return factor_inputs(factors, self.last, self.sizes, self.one_hot)


def _column_of(name: str, names: tuple[str, ...]) -> int:
    if name not in names:
        hint = suggestion(name, names)
        raise InputError(f"one_hot names no factor: {name!r}{hint}; there are {', '.join(names)}")
    return names.index(name)
