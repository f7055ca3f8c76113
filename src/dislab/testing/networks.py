"""Checks of encoders and decoders."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from dislab.base import DecoderBuilder, EncoderBuilder, ImageShape
from dislab.functional.random import device_generator
from dislab.testing._claims import CPU, check_state_dict, must, part_from


def check_encoder(
    build: EncoderBuilder, image_shape: ImageShape = (1, 64, 64), outputs: int = 6
) -> None:
    """Checks that an encoder maps one or more images to vectors and receives gradients.

    Args:
        build: The class, or a partial of it.
        image_shape: Channels, height and width that it must accept.
        outputs: Length of the output vectors.
    """
    encoder = part_from(build, "image_shape and outputs", image_shape, outputs)
    images = torch.rand(3, *image_shape, generator=device_generator(CPU, 0))
    _check_network(encoder, lambda: build(image_shape, outputs), images, (outputs,))


def check_decoder(
    build: DecoderBuilder, latent_dim: int = 5, image_shape: ImageShape = (1, 64, 64)
) -> None:
    """Checks that a decoder maps one or more latent vectors to images and receives gradients.

    Args:
        build: The class, or a partial of it.
        latent_dim: Number of latents.
        image_shape: Channels, height and width that it must accept.
    """
    decoder = part_from(build, "latent_dim and image_shape", latent_dim, image_shape)
    latents = torch.randn(3, latent_dim, generator=device_generator(CPU, 0))
    _check_network(decoder, lambda: build(latent_dim, image_shape), latents, image_shape)


def _check_network(
    network: nn.Module, build: Callable[[], nn.Module], inputs: Tensor, shape: tuple[int, ...]
) -> None:
    outputs = network(inputs)
    must(tuple(outputs.shape) == (len(inputs), *shape), f"outputs have shape (batch, {shape})")
    must(outputs.dtype == torch.float32, "outputs are float32")
    must(torch.equal(outputs, network(inputs)), "equal inputs give equal outputs")
    network.eval()
    torch.testing.assert_close(network(inputs[:1]), network(inputs)[:1], msg="one row is enough")
    network.train()
    outputs.square().sum().backward()
    if idle := _idle(network):
        # a gate initialised to zero blocks gradients of the gated layers until it opens
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.sub_(0 if parameter.grad is None else 1e-3 * parameter.grad.sign())
        network(inputs).square().sum().backward()
        idle = [name for name in _idle(network) if name in idle]
    must(not idle, f"gradients reach every parameter, but not {', '.join(idle)}")
    check_state_dict(network, build())


def _idle(network: nn.Module) -> list[str]:
    return [name for name, p in network.named_parameters() if p.grad is None or not p.grad.any()]
