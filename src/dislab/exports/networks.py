"""Encoder and decoder of a trained method as plain functions of tensors."""

from typing import Any, NamedTuple, final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dislab.base import Objective
from dislab.base.inference import lacks
from dislab.errors import InputError

_EXAMPLES = 5
"""Number of rows of the examples, with which exported files are tested."""


class Port(NamedTuple):
    """An input or an output of a network.

    Attributes:
        name: Name in an ONNX file; in torch's programs only the position counts.
        shape: Shape without the batch axis.
        kind: Data type.
        meaning: A phrase for the model card.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    meaning: str


class Network(NamedTuple):
    """A function of one tensor, ready to be exported.

    Attributes:
        name: `encoder` or `decoder`, which is also the name of its file.
        module: The function.
        example: An input of five rows.
        source: The input.
        results: The outputs in their order.
    """

    name: str
    module: nn.Module
    example: Tensor
    source: Port
    results: tuple[Port, ...]

    def outputs(self) -> list[Tensor]:
        """The outputs for the example."""
        with torch.no_grad():
            return listed(self.module(self.example))


def listed(outputs: Tensor | tuple[Tensor, ...]) -> list[Tensor]:
    """The outputs of a network as a list, even if there is only one."""
    return [outputs] if isinstance(outputs, Tensor) else list(outputs)


def networks_of(model: Objective) -> list[Network]:
    """The encoder and the decoder of a method, as far as it has them.

    Args:
        model: In evaluation mode, on the CPU, in single precision.

    Raises:
        InputError: The model does not keep the shape of its images.
    """
    try:
        shape = tuple(int(size) for size in model.hparams["image_shape"])
    except KeyError as error:
        raise InputError(
            f"{type(model).__name__} keeps no image_shape among its settings, so that its "
            "networks cannot be exported; --to safetensors can"
        ) from error
    generator = torch.Generator().manual_seed(0)
    images = torch.rand((_EXAMPLES, *shape), generator=generator)
    networks = []
    if model.has_codes or not lacks(model, "encode"):
        networks.append(_encoder(model, images))
    if not lacks(model, "render"):
        networks.append(_renderer(model, shape, generator))
    elif not lacks(model, "decode") and networks:
        outputs = {
            port.name: row
            for port, row in zip(networks[0].results, networks[0].outputs(), strict=True)
        }
        networks.append(_decoder(model, outputs))
    return networks


def _encoder(model: Objective, images: Tensor) -> Network:
    posterior = not lacks(model, "encode")
    module = _Encoder(model, model.has_codes, posterior)
    with torch.no_grad():
        outputs = listed(module(images))
    names = ["codes"] if model.has_codes else []
    names += ["mean", "log_var"] if posterior else []
    meanings = {
        "codes": "the representation that scores read",
        "mean": "means of the posterior of the latents",
        "log_var": "logarithms of its variances",
    }
    results = tuple(
        Port(name, tuple(output.shape[1:]), "float32", meanings[name])
        for name, output in zip(names, outputs, strict=True)
    )
    source = Port("image", tuple(images.shape[1:]), "float32", "pixels in [0, 1]")
    return Network("encoder", module, images, source, results)


def _decoder(model: Objective, encoded: dict[str, Tensor]) -> Network:
    """The decoder, with outputs of the encoder as its example."""
    name = "mean" if "mean" in encoded else "codes"
    latents, meaning = encoded[name], f"latents, such as the {name} of the encoder"
    source = Port("z", tuple(latents.shape[1:]), "float32", meaning)
    return _drawing(_Decoder(model), latents, source)


def _renderer(model: Objective, shape: tuple[int, ...], generator: torch.Generator) -> Network:
    names, sizes = model.hparams["factor_names"], model.hparams["factor_sizes"]
    columns = [torch.randint(size, (_EXAMPLES,), generator=generator) for size in sizes]
    meaning = "value numbers of " + ", ".join(
        f"{name} (0 to {size - 1})" for name, size in zip(names, sizes, strict=True)
    )
    source = Port("factors", (len(names),), "int64", meaning)
    return _drawing(_Renderer(model), torch.stack(columns, 1), source)


def _drawing(module: nn.Module, example: Tensor, source: Port) -> Network:
    with torch.no_grad():
        image = module(example)
    result = Port("image", tuple(image.shape[1:]), "float32", "mean image, pixels in [0, 1]")
    return Network("decoder", module, example, source, (result,))


@final
class _Encoder(nn.Module):
    """Codes and posteriors of images, as far as a method has them."""

    def __init__(self, model: Objective, codes: bool, posterior: bool) -> None:
        super().__init__()
        self.model = model
        self.codes = codes
        self.posterior = posterior

    def forward(self, image: Float[Tensor, "batch channel height width"]) -> Any:
        """The outputs in the order of the ports."""
        outputs = [self.model.codes(image)] if self.codes else []
        if self.posterior:
            posterior = self.model.encode(image)
            outputs += [posterior.mean, posterior.log_var]
        return tuple(outputs)


@final
class _Decoder(nn.Module):
    """Mean images of latents."""

    def __init__(self, model: Objective) -> None:
        super().__init__()
        self.model = model

    def forward(self, z: Float[Tensor, "batch latent"]) -> Tensor:
        """The images."""
        return self.model.decode(z)


@final
class _Renderer(nn.Module):
    """Mean images of true factors."""

    def __init__(self, model: Objective) -> None:
        super().__init__()
        self.model = model

    def forward(self, factors: Int[Tensor, "batch factor"]) -> Tensor:
        """The images."""
        return self.model.render(factors)
