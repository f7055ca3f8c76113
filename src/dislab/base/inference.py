"""Inference with an objective without a trainer: mode, precision, and batches of images."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from jaxtyping import Shaped
from lightning.pytorch.plugins import DoublePrecision, MixedPrecision, Precision
from torch import Tensor
from tqdm import tqdm

from dislab.base.datamodule import DataModule
from dislab.base.objective import Objective
from dislab.factors import Indices

Capability = Literal[
    "encode", "decode", "pixel_loss", "reconstruct", "render", "generate", "code_values"
]
"""A method of `Objective` that a class may leave unimplemented."""


def lacks(module: Objective, capability: Capability) -> bool:
    """Whether a class does not override the base class's method for a capability."""
    return getattr(type(module), capability) is getattr(Objective, capability)


def precision_of(setting: str | int | None, device: torch.device) -> Precision:
    """Lightning's precision plugin for a trainer's setting `precision`, without a trainer.

    As in Lightning, a CPU computes in bfloat16 if float16 is requested.
    """
    name = str(setting).removesuffix("-mixed")
    if name in ("64", "64-true"):
        return DoublePrecision()
    if name == "bf16" or (name == "16" and device.type == "cpu"):
        return MixedPrecision("bf16-mixed", device.type)
    return MixedPrecision("16-mixed", device.type) if name == "16" else Precision()


@contextmanager
def evaluating(module: Objective, precision: Precision) -> Iterator[None]:
    """Evaluation mode in a precision, without gradients; the previous modes are restored."""
    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        with torch.inference_mode(), precision.forward_context():
            yield
    finally:
        for part, mode in modes.items():
            part.training = mode


def images_of(
    data: DataModule, module: Objective, states: Indices, precision: Precision
) -> Shaped[Tensor, "batch channel height width"]:
    """Images of states as the objective receives them, on its device and in its precision."""
    image = data.images(torch.from_numpy(states).to(module.device))
    converted: Tensor = precision.convert_input(image)
    return converted


def over_images(
    data: DataModule,
    module: Objective,
    states: Indices,
    batch_size: int,
    function: Callable[[Tensor], Tensor],
    precision: Precision,
) -> Shaped[Tensor, "point *rest"]:
    """Results of a function of images, on the CPU; shows a progress bar on a terminal.

    The function is called once per batch, with pixels in [0, 1] on the device of the objective,
    which is in evaluation mode.
    """
    results = []
    bar = tqdm(total=len(states), desc="encoding", unit=" images", leave=False, disable=None)
    with bar, evaluating(module, precision):
        for start in range(0, len(states), batch_size):
            batch = states[start : start + batch_size]
            results.append(function(images_of(data, module, batch, precision)).cpu())
            bar.update(len(batch))
    return torch.cat(results)
