"""Checks of encoders and decoders."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from dislab.base import (
    Decoder,
    DecoderBuilder,
    Encoder,
    EncoderBuilder,
    ImageShape,
    is_vector,
    make_decoder,
    make_encoder,
)
from dislab.base._batches import check_output
from dislab.errors import InputError
from dislab.functional.random import device_generator
from dislab.testing._claims import (
    CPU,
    TOO_FEW,
    check_state_dict,
    mistakes,
    must,
    must_carry_gradients,
    must_equal,
    part_from,
    smallest_batch,
)


def check_encoder(
    build: EncoderBuilder, image_shape: ImageShape = (1, 64, 64), outputs: int = 6
) -> None:
    """Checks that an encoder maps one or more images to vectors and receives gradients.

    It also takes images with other channels and with twice the sides, or its constructor refuses
    them with an `InputError`, as `dislab.functional.checks.check_sides` does.

    Args:
        build: The class, or a partial of it.
        image_shape: Channels, height and width that it must accept.
        outputs: Length of the output vectors.
    """

    def images(shape: ImageShape, count: int) -> Tensor:
        return torch.rand(count, *shape, generator=device_generator(CPU, 0))

    part_from(Encoder, build, image_shape=image_shape, outputs=outputs)
    _check_network(lambda shape: make_encoder(build, shape, outputs), image_shape, images, "image")


def check_decoder(
    build: DecoderBuilder, latent_dim: int = 5, image_shape: ImageShape = (1, 64, 64)
) -> None:
    """Checks that a decoder maps one or more latent vectors to images and receives gradients.

    It also makes images with other channels and with twice the sides, or its constructor refuses
    them with an `InputError`, as `dislab.functional.checks.check_sides` does. Its outputs are
    logits, or raw means: a decoder that ends in a sigmoid is refused.

    Args:
        build: The class, or a partial of it.
        latent_dim: Number of latents.
        image_shape: Channels, height and width that it must accept.
    """

    def latents(shape: ImageShape, count: int) -> Tensor:
        return torch.randn(count, latent_dim, generator=device_generator(CPU, 0))

    part_from(Decoder, build, latent_dim=latent_dim, image_shape=image_shape)
    _check_network(
        lambda shape: make_decoder(build, latent_dim, shape), image_shape, latents, "latent vector"
    )
    if not is_vector(image_shape):
        decoder = make_decoder(build, latent_dim, image_shape)
        _check_logits(decoder, latents(image_shape, max(3, smallest_batch(decoder))))


def _check_network(
    make: Callable[[ImageShape], Encoder | Decoder],
    shape: ImageShape,
    draw: Callable[[ImageShape, int], Tensor],
    row: str,
) -> None:
    """Checks an encoder or decoder; `row` is the noun of a row of its input."""
    with mistakes():
        network = make(shape)
    _open(network)
    least = smallest_batch(network)
    inputs = draw(shape, max(3, least)).requires_grad_(isinstance(network, Decoder))
    outputs = _output(network, inputs)
    name = type(network).__name__
    must_carry_gradients(outputs, f"the output of {name}")
    must(outputs.dtype == torch.float32, f"outputs are float32, not {outputs.dtype}")
    must_equal(
        network(inputs),
        outputs,
        f"equal inputs give equal outputs: {name} draws no random numbers, as dropout does, and "
        "keeps nothing from call to call",
    )
    few = _output(network, inputs[:least], TOO_FEW)
    must(
        bool(few.isfinite().all()),
        f"outputs of {least} {row}{'s' * (least > 1)} are finite, without NaN; {TOO_FEW}",
    )
    network.eval()
    must_equal(
        network(inputs[:1]),
        network(inputs)[:1],
        f"in evaluation mode, the output of {name} for one {row} depends on no other {row} of the "
        "batch, so that one is enough (a statistic of the batch, such as its mean, is for training "
        f"mode, as in BatchNorm); outputs of one {row} alone and in a batch are equal",
        exact=False,
    )
    network.train()
    outputs.square().sum().backward()  # type: ignore[no-untyped-call]
    must(
        not inputs.requires_grad or inputs.grad is not None,
        f"gradients pass {name} to its latents, which an encoder learns from; none arrives: leave "
        "out .detach() and .data",
    )
    idle = _idle(network)
    must(not idle, f"gradients reach every parameter, but not {', '.join(idle)}")
    check_state_dict(network, make(shape))
    for other in _others(shape):
        refusal = f"make it fit {other}, or let the constructor raise an InputError for this shape"
        with mistakes(f"; {refusal}"):
            try:
                network = make(other)
            except InputError:
                continue
        _output(network, draw(other, len(inputs)), refusal)


def _open(network: nn.Module) -> None:
    """Draws parameters that are zero at first: a gate or a last layer, which blocks gradients."""
    generator = device_generator(CPU, 1)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.requires_grad and not parameter.any():
                parameter.normal_(std=0.1, generator=generator)


def _check_logits(decoder: Decoder, z: Tensor) -> None:
    """Refuses outputs in [0, 1] whatever the weights: pixels, to which losses add a sigmoid."""
    generator = device_generator(CPU, 1)
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.normal_(generator=generator)
        outputs = decoder(z)
    must(
        not bool(((outputs >= 0) & (outputs <= 1)).all()),
        f"outputs of {type(decoder).__name__} are logits, of any size, but with random weights all "
        "of them lie in [0, 1]: leave out the sigmoid or clamp at its end, as the likelihood "
        "applies its own; with both, reconstructions turn grey",
    )


def _output(network: nn.Module, inputs: Tensor, remedy: str = "") -> Tensor:
    """The output of a network, after the check that training makes on the first batch."""
    with mistakes(f"; its input has the shape {tuple(inputs.shape)}" + (remedy and f"; {remedy}")):
        outputs: Tensor = network(inputs)
        check_output(network, inputs, outputs)
    return outputs


def _others(shape: ImageShape) -> list[ImageShape]:
    """A shape with other channels, and for images one with other sides."""
    channels, height, width = shape
    if is_vector(shape):
        return [(channels + 1, height, width)]
    return [(3 if channels == 1 else 1, height, width), (channels, 2 * height, 2 * width)]


def _idle(network: nn.Module) -> list[str]:
    return [name for name, p in network.named_parameters() if p.grad is None or not p.grad.any()]
