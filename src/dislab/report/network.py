"""Exports decoders as layers and half-precision weights for the script of a page."""

import base64
import copy
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from dislab.base import Decoder, Objective
from dislab.base.inference import lacks
from dislab.decoders import ConvDecoder64, ConvGenerator, MLPDecoder, SpatialBroadcastDecoder
from dislab.functional.random import device_generator

MOST_PARAMETERS: Final = 10_000_000
"""Maximum number of decoder parameters in a page: 27 MB of text."""
MOST_DIFFERENCE: Final = 0.05
"""Maximum difference in pixels of [0, 1] that rounding the weights of a decoder may cause."""

_PROBES: Final = 32
_STREAM: Final = 0x7E

Layer = dict[str, Any]
"""Type and sizes of a layer, as the script reads them."""


class Network(NamedTuple):
    """A decoder that the script of a page can compute.

    Attributes:
        layers: Layers from a code to pixels in [0, 1], in order. `sizes` are the numbers of weights
            and biases that a layer takes from `weights`.
        weights: IEEE half-precision numbers, little endian, in base64.
        parameters: Number of weights.
        rounding: Largest pixel difference between the decoder with original and with rounded
            weights, over 32 codes drawn from the standard normal distribution.
    """

    layers: list[Layer]
    weights: str
    parameters: int
    rounding: float

    def record(self) -> dict[str, Any]:
        """All fields in JSON-ready form."""
        return self._asdict()


def network_of(module: Objective) -> Network | str:
    """Exports the decoder of an objective, or gives the reason why a page cannot compute it.

    Supports dislab's own decoders without pixel shuffles or residual blocks. The result is compared
    with `module.decode` before it is returned, so that an objective which processes its codes
    differently is never shown incorrectly.

    Args:
        module: An objective with a decoder, on the CPU and in evaluation mode.
    """
    decoders = _decoders(module)
    if len(decoders) != 1:
        return f"{type(module).__name__} has {len(decoders)} decoders"
    decoder = decoders[0]
    parameters = sum(parameter.numel() for parameter in decoder.parameters())
    if parameters > MOST_PARAMETERS:
        return f"its {parameters:,} parameters would make the page too large"
    layers = _layers(decoder)
    if layers is None:
        return f"the page cannot compute {type(decoder).__name__}"
    inputs = _inputs_of_codes(module)
    z = _probes(module, decoder, inputs)
    with torch.inference_mode():
        activation = _activation(module, decoder, inputs, z)
        if activation is None:
            return f"{type(module).__name__} does more than decode its codes"
        rounded = rounded_decoder(decoder)
        difference = module.decode(z) - _ACTIVATIONS[activation](rounded(_read(z, inputs)))
    rounding = float(difference.abs().max())
    if not rounding <= MOST_DIFFERENCE:
        return f"half-precision weights would change its pixels by {rounding:.2g}"
    described = [layer for layer, _ in layers] + [{"kind": activation}]
    if inputs is not None:
        described.insert(0, inputs)
    numbers = [tensor for _, part in layers for tensor in part]
    return Network(described, _packed(numbers), sum(map(torch.numel, numbers)), rounding)


def rounded_decoder(decoder: Decoder) -> Decoder:
    """A copy of a decoder whose parameters are rounded to half precision.

    Args:
        decoder: The decoder, in single precision.
    """
    rounded = copy.deepcopy(decoder)
    with torch.no_grad():
        for parameter in rounded.parameters():
            parameter.copy_(parameter.half().float())
    return rounded


_ACTIVATIONS: Final[dict[str, Callable[[Tensor], Tensor]]] = {
    "sigmoid": torch.sigmoid,
    "clamp": lambda output: output.clamp(0.0, 1.0),
}


def _decoders(module: nn.Module) -> list[Decoder]:
    """Decoders that are direct children of a module; if none, those of nested models."""
    decoders = [part for part in module.children() if isinstance(part, Decoder)]
    return decoders or [decoder for part in module.children() for decoder in _decoders(part)]


def _packed(numbers: list[Tensor]) -> str:
    halves = [tensor.detach().numpy().astype("<f2").ravel() for tensor in numbers]
    return base64.b64encode(np.concatenate(halves).tobytes()).decode("ascii")


def _inputs_of_codes(module: Objective) -> Layer | None:
    """Input layer of a generator: no noise, and categorical codes as one-hot vectors."""
    noise: Any = getattr(module, "noise_dim", None)
    if lacks(module, "code_values") or not isinstance(noise, int):
        return None
    categorical: Any = getattr(module, "categorical", ())
    return {"kind": "codes", "zeros": noise, "categorical": list(categorical)}


def _probes(
    module: Objective, decoder: Decoder, inputs: Layer | None
) -> Float[Tensor, "probe code"]:
    generator = device_generator(torch.device("cpu"), 0, _STREAM)
    if inputs is None:
        return torch.randn(_PROBES, _width(decoder), generator=generator)
    columns = [
        values[torch.randint(len(values), (_PROBES,), generator=generator)]
        for values in module.code_values(9)
    ]
    return torch.stack(columns, dim=1)


def _width(decoder: Decoder) -> int:
    """Number of inputs of a decoder."""
    first = next(part for part in decoder.modules() if isinstance(part, nn.Linear | nn.Conv2d))
    if isinstance(first, nn.Linear):
        return first.in_features
    return first.in_channels - 2  # two of the channels are coordinates, not latents


def _read(z: Float[Tensor, "probe code"], inputs: Layer | None) -> Float[Tensor, "probe input"]:
    if inputs is None:
        return z
    sizes = inputs["categorical"]
    parts = [torch.zeros(len(z), inputs["zeros"])]
    for code, size in enumerate(sizes):
        parts.append(nn.functional.one_hot(z[:, code].long(), size).float())
    return torch.cat([*parts, z[:, len(sizes) :]], dim=1)


def _activation(
    module: Objective, decoder: Decoder, inputs: Layer | None, z: Float[Tensor, "probe code"]
) -> str | None:
    """Function that the objective applies to the decoder's output; None if it is not supported."""
    output, expected = decoder(_read(z, inputs)), module.decode(z)
    for name, function in _ACTIVATIONS.items():
        if torch.allclose(function(output), expected, rtol=0.0, atol=1e-6):
            return name
    return None


def _layers(decoder: Decoder) -> list[tuple[Layer, list[Tensor]]] | None:
    """Layers with their weights; None for a decoder that is not supported."""
    layers: list[tuple[Layer, list[Tensor]]] = []
    if isinstance(decoder, SpatialBroadcastDecoder):
        _, height, width = decoder.coordinates.shape
        layers.append(({"kind": "broadcast", "height": height, "width": width}, []))
    elif not isinstance(decoder, ConvDecoder64 | ConvGenerator | MLPDecoder):
        return None
    network: nn.Sequential = decoder.network
    return [*layers, *map(_described, network)]


def _described(part: nn.Module) -> tuple[Layer, list[Tensor]]:
    """One layer as the script reads it, and its weights."""
    if isinstance(part, nn.Unflatten):
        return {"kind": "shape", "shape": list(part.unflattened_size)}, []
    if isinstance(part, nn.ReLU | nn.Tanh):
        return {"kind": type(part).__name__.lower()}, []
    layer: Layer = {"kind": _KINDS[type(part)]}
    if isinstance(part, nn.Conv2d):
        layer["kernel"] = part.kernel_size[0]
    if isinstance(part, nn.LayerNorm | nn.GroupNorm):
        layer["epsilon"] = part.eps
    numbers = [part.get_parameter("weight"), part.get_parameter("bias")]
    return {**layer, "sizes": [tensor.numel() for tensor in numbers]}, list(numbers)


_KINDS: Final[dict[type[nn.Module], str]] = {
    nn.Linear: "linear",
    nn.ConvTranspose2d: "deconv",
    nn.Conv2d: "conv",
    nn.LayerNorm: "norm",
    nn.GroupNorm: "norm",
}
