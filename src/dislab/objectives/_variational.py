"""Common base of methods with a posterior over latents and a likelihood of pixels."""

from abc import ABC
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import ClassVar, Final, NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dislab.base import (
    Decoder,
    Draws,
    Encoder,
    ImageShape,
    LabelledImages,
    Objective,
    Posterior,
    Regularizer,
    RegularizerBuilder,
)
from dislab.base.parts import make_part
from dislab.base.pixels import by, shape_advice
from dislab.errors import InputError
from dislab.functional.losses import Likelihood, mean_image, negative_log_likelihood
from dislab.functional.noise import InputNoise, add_input_noise
from dislab.functional.runtime import widen
from dislab.functional.streams import Stream

_LOG_SCALE: Final = -3.0
"""Logarithm of the initial scale, about 0.05 for pixels in [0, 1]."""


def checked_images(owner: Objective, image: Tensor, shape: Sequence[int]) -> Tensor:
    """The images; refuses other shapes than (batch, *shape) and other dtypes than the weights'."""
    if image.ndim != 4 or image.shape[1:] != tuple(shape):
        given = tuple(image.shape[1:])
        advice = f"; {shape_advice(shape, given)}" if len(given) == 3 else ""
        if tuple(image.shape) == tuple(shape):
            advice = "; images[None] makes a batch of a single image"
        raise InputError(
            f"images have shape {tuple(image.shape)}; {type(owner).__name__} was made for a batch "
            f"of {by(shape)}: channels, height, width{advice}"
        )
    _check_kind(owner, "images", image, "pixels in [0, 1]")
    return image


def checked_rows(owner: Objective, name: str, rows: Tensor, columns: int, each: str) -> Tensor:
    """The rows; refuses other shapes than (batch, columns), with one number for each `each`."""
    if rows.ndim != 2 or rows.shape[1] != columns:
        raise InputError(
            f"{name} has shape {tuple(rows.shape)}; it is a batch of rows with "
            f"{columns} {'number' if columns == 1 else 'numbers'}, one for each {each}"
        )
    _check_kind(owner, name, rows, "real numbers")
    return rows


def _check_kind(owner: Objective, name: str, value: Tensor, allowed: str) -> None:
    if value.dtype == owner.dtype or torch.is_autocast_enabled(value.device.type):
        return
    # an enclosing module may have converted the weights without updating `owner.dtype`
    kind = next((parameter.dtype for parameter in owner.parameters()), owner.dtype)
    if value.dtype != kind:
        # not for integers, which conversion would leave in 0 to 255
        advice = f": pass {name}.to({kind})" if value.is_floating_point() else ""
        if value.dtype == torch.uint8 and name == "images":
            advice = f": pass images.to({kind}) / 255"
        raise InputError(
            f"{name} is {value.dtype}; it holds {allowed} as {kind}, like the weights{advice}"
        )


class Penalties(NamedTuple):
    """Sums of the penalties and auxiliary losses (if any) of all regularisers, with terms."""

    penalty: Tensor
    auxiliary: Tensor | None
    terms: dict[str, Tensor]


class Labelled(NamedTuple):
    """Posteriors of labelled images, and their labels, shape (batch, label)."""

    posterior: Posterior
    labels: Tensor


class Pixels(nn.Module):
    """The pixel likelihood given a decoder's output; `discretized` learns a common scale."""

    log_scale: nn.Parameter | None

    def __init__(self, likelihood: Likelihood) -> None:
        super().__init__()
        self.likelihood: Likelihood = likelihood
        learned = nn.Parameter(torch.tensor(_LOG_SCALE)) if likelihood == "discretized" else None
        self.register_parameter("log_scale", learned)

    def forward(
        self,
        output: Float[Tensor, "batch channel height width"],
        image: Float[Tensor, "batch channel height width"],
    ) -> Float[Tensor, ""]:
        """−log p(x|z) in nats per image."""
        return negative_log_likelihood(output, image, self.likelihood, self.log_scale)

    def mean(
        self, output: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch channel height width"]:
        """The mean of p(x|z), pixels in [0, 1]."""
        return mean_image(output, self.likelihood)


def posterior_of(outputs: Float[Tensor, "batch output"]) -> Posterior:
    """Splits an encoder's outputs into means and log variances, in float32 or wider."""
    mean, log_var = widen(outputs).chunk(2, dim=1)
    return Posterior(mean, log_var)


def build_regularizers(
    builders: dict[str, RegularizerBuilder], latent_dim: int, train_size: int, owner: str
) -> nn.ModuleDict:
    """Builds the regularisers by name; refuses an empty mapping and invalid names."""
    if not builders:
        raise InputError(
            f"regularizers is empty, and {owner} needs a regulariser, such as kl: KL; without it "
            "nothing constrains the codes"
        )
    for name in builders:
        if not name.isidentifier() or hasattr(nn.ModuleDict, name):
            raise InputError(f"{name!r} cannot name a regulariser; choose another name")
    sizes = {"latent_dim": latent_dim, "train_size": train_size}
    parts = {name: make_part(Regularizer, build, **sizes) for name, build in builders.items()}
    return nn.ModuleDict(parts)


def build_further_regularizers(
    builders: dict[str, RegularizerBuilder] | None,
    latent_dim: int,
    train_size: int | None,
    owner: str,
) -> nn.ModuleDict:
    """Builds the regularisers of a method that has a KL divergence of its own; none if None."""
    if not builders:
        return nn.ModuleDict()
    if train_size is None:
        raise InputError(
            f"{owner} has regularizers and no train_size, which they need: give the number of "
            "training images; the command line takes it from the data"
        )
    return build_regularizers(builders, latent_dim, train_size, owner)


def draw_codes(count: int, latent_dim: int, regularizers: nn.ModuleDict, stream: Stream) -> Draws:
    """Standard normal `noise`, then the draws of each regulariser, under `regulariser.name`."""
    noise = {"noise": stream.normal("noise", count, latent_dim)}
    return noise | draw_regularizers(count, regularizers, stream)


def draw_regularizers(count: int, regularizers: nn.ModuleDict, stream: Stream) -> Draws:
    """The draws of each regulariser, under `regulariser.name`."""
    draws: Draws = {}
    for name, regularizer in regularizers.items():
        regularizer_draws = cast("Regularizer", regularizer).draw(
            count, stream.of("regularizers", name)
        )
        for key, rows in regularizer_draws.items():
            draws[f"{name}.{key}"] = rows
    return draws


def draws_of(name: str, draws: Draws) -> Draws:
    """The draws with the prefix `name.`, without this prefix."""
    prefix = f"{name}."
    return {key[len(prefix) :]: rows for key, rows in draws.items() if key.startswith(prefix)}


def with_input_noise(
    image: Float[Tensor, "batch channel height width"], draws: Draws, noise: InputNoise
) -> Float[Tensor, "batch channel height width"]:
    """The encoder's input: the image, with input noise if the step drew it."""
    if "fine" not in draws:
        return image
    return add_input_noise(image, draws["fine"], draws["coarse"], noise)


def penalize(
    regularizers: nn.ModuleDict,
    posterior: Posterior,
    z: Float[Tensor, "batch latent"],
    draws: Draws,
    step: Int[Tensor, ""],
    labelled: Labelled | None = None,
) -> Penalties:
    """The sums of all penalties and of all auxiliary losses; terms under `regulariser/term`.

    Raises:
        InputError: A regulariser needs labels, and there are none.
    """
    penalties: list[Tensor] = []
    auxiliaries: list[Tensor] = []
    terms: dict[str, Tensor] = {}
    for name, regularizer in regularizers.items():
        inputs = (posterior, z, draws_of(name, draws))
        if regularizer.needs_labels:
            if labelled is None:
                raise InputError(
                    f"regulariser {name}, {type(regularizer).__name__}, compares codes with "
                    "labels, and the batches have none; set data.few_labels, as "
                    "configs/labels100.yaml does, or leave it out"
                )
            rows, labels = labelled
            inputs = (rows, rows.mean, {**inputs[2], "labels": labels})
        penalty, auxiliary, regularizer_terms = regularizer(*inputs, step)
        penalties.append(penalty)
        if auxiliary is not None:
            auxiliaries.append(auxiliary)
        terms |= {f"{name}/{key}": value for key, value in regularizer_terms.items()}
    # `sum` would add an operation, which counts in steps of small networks
    return Penalties(
        reduce(add, penalties), reduce(add, auxiliaries) if auxiliaries else None, terms
    )


def labelled_posteriors(
    model: Objective, regularizers: nn.ModuleDict, labelled: object
) -> Labelled | None:
    """Posteriors of labelled images; None if there are none, or no regulariser compares them."""
    if not isinstance(labelled, LabelledImages):
        return None
    if not any(part.needs_labels for part in regularizers.values()):
        return None
    return Labelled(model.encode(labelled.image), labelled.labels)


def with_auxiliary(objective: Float[Tensor, ""], auxiliary: Tensor | None) -> Float[Tensor, ""]:
    """The loss: the objective plus the auxiliary losses of regularisers, if any."""
    return objective if auxiliary is None else objective + auxiliary


class VariationalObjective(Objective, ABC):
    """A method that encodes single images as Gaussians and decodes their samples.

    A concrete class sets the attributes below, and implements `draw` and `losses`.

    Attributes:
        image_shape: Channels, height and width.
        latent_dim: Number of latents.
        encoder: Maps images to means and log variances of latents.
        decoder: Maps latents to the parameters of the likelihood.
        pixels: The likelihood of pixels.
    """

    code_noise: ClassVar[tuple[str, ...] | None] = ("noise",)
    image_shape: ImageShape
    latent_dim: int
    encoder: Encoder
    decoder: Decoder
    pixels: Pixels

    def encode(self, image: Float[Tensor, "batch channel height width"]) -> Posterior:
        """The posteriors q(z|x) of single images, in float32 or wider."""
        return posterior_of(self.encoder(checked_images(self, image, self.image_shape)))

    def codes(
        self, image: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch latent"]:
        """Means of the posteriors of single images, a tensor or an array as in `Objective`."""
        return self.encode(image).mean

    def pixel_loss(
        self,
        z: Float[Tensor, "batch latent"],
        image: Float[Tensor, "batch channel height width"],
    ) -> Float[Tensor, ""]:
        """−log p(x|z) in nats per image, averaged over the batch."""
        rows = checked_rows(self, "z", z, self.latent_dim, "latent")
        checked = checked_images(self, image, self.image_shape)
        loss: Tensor = self.pixels(self.decoder(rows), checked)
        return loss

    def decode(
        self, z: Float[Tensor, "batch latent"]
    ) -> Float[Tensor, "batch channel height width"]:
        """Mean images, pixels in [0, 1]."""
        return self.pixels.mean(self.decoder(checked_rows(self, "z", z, self.latent_dim, "latent")))
