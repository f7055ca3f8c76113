"""Match of a method with its data, and conversion of batches from other libraries' loaders."""

from typing import Any

import torch
from torch import Tensor, nn

from dislab.base.datamodule import DataModule, ImageBatch
from dislab.errors import InputError
from dislab.plugins import load_all


def check_batches(method: str, accepted: tuple[type, ...], data: DataModule) -> None:
    """Refuses data whose batch type a method does not accept; the message names suitable ones."""
    if issubclass(data.batch_type, accepted):
        return
    fitting = [
        name
        for name, cls in load_all(("datamodules",))["datamodules"].items()
        if issubclass(getattr(cls, "batch_type", object), accepted)
    ]
    types = " or ".join(cls.__name__ for cls in accepted)
    raise InputError(
        f"{method} learns from {types}, and {type(data).__name__} delivers "
        f"{data.batch_type.__name__}; data modules that fit: {', '.join(fitting) or 'none'}"
    )


def check_batch_size(method: nn.Module, size: int) -> None:
    """Refuses training batches that are too small for a part, which compares their images."""
    for part in method.modules():
        least = getattr(part, "smallest_batch", 1)
        if size < least and part.training:  # a frozen part is not trained on these batches
            raise InputError(
                f"the batch size is {size}, and {type(part).__name__} compares the images of a "
                f"batch; set data.batch_size to at least {least}"
            )


def received(accepted: tuple[type, ...], batch: Any) -> Any:
    """Converts a batch of any loader to a batch that the method accepts.

    For a method that learns from single images, a tensor of images, alone or first in a list,
    becomes an `ImageBatch`: bytes are divided by 255, booleans become 0 and 1, and an integer
    tensor in second place becomes the factors. Any other batch is returned unchanged.
    """
    has_names = hasattr(batch, "_fields")
    parts = batch if isinstance(batch, list | tuple) else [batch]
    if has_names or ImageBatch not in accepted or not parts or not isinstance(parts[0], Tensor):
        return batch
    image = parts[0]
    if image.dtype in (torch.uint8, torch.bool):
        image = image.float().div(255 if image.dtype == torch.uint8 else 1)
    return ImageBatch(image, _positions(image, parts[1] if len(parts) > 1 else None))


def count_of(batch: Any) -> int:
    """Number of examples in a batch; 0 for an unsupported batch, which other code refuses."""
    if not isinstance(batch, tuple | list) or not batch:
        return 0
    first = batch[0]
    # len() of a tensor takes ten times as long as its shape
    return first.shape[0] if isinstance(first, Tensor) and first.ndim else len(first)


def _positions(image: Tensor, second: object) -> Tensor:
    """The factors, one row per image; no columns if the second part is not an integer tensor."""
    if (
        isinstance(second, Tensor)
        and not second.is_floating_point()
        and second.ndim in (1, 2)
        and len(second) == len(image)
    ):
        return second.long().view(len(image), -1)
    return torch.zeros(len(image), 0, dtype=torch.int64, device=image.device)
