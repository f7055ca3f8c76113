"""Images as inputs of the methods that encode them: arrays are converted, and pixels checked."""

import functools
from collections.abc import Callable
from typing import Any, Final

import lightning.pytorch as pl
import numpy as np
import numpy.typing as npt
import torch
from lightning.pytorch.trainer.states import TrainerStatus
from torch import Tensor

from dislab.base.pixels import check_pixels
from dislab.errors import InputError

_ENCODERS: Final = ("codes", "encode", "reconstruct")


def takes_arrays(cls: type) -> None:
    """Lets an objective's encoding methods accept NumPy arrays, and refuse pixels out of range.

    An array is converted to the device and dtype of the weights; bytes are divided by 255.
    """
    for name in _ENCODERS:
        method = cls.__dict__.get(name)
        if callable(method) and not getattr(method, "__isabstractmethod__", False):
            setattr(cls, name, taking_arrays(method))


def taking_arrays(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of images that also accepts NumPy arrays, and refuses pixels out of range."""

    @functools.wraps(method)
    def taking(self: Any, image: Any) -> Any:
        if isinstance(image, np.ndarray):
            check_pixels("images", [image])
            with torch.no_grad():
                return method(self, _converted(image, self))
        if not hasattr(image, "ndim"):
            raise InputError(
                f"{method.__name__} of {type(self).__name__} takes images as one array or tensor "
                f"of shape (image, channel, height, width), not {type(image).__name__}; "
                "numpy.stack makes one of a list of arrays"
            )
        if isinstance(image, Tensor) and image.is_floating_point():
            _check_range(self, image)
        return method(self, image)

    return taking


def _converted(image: npt.NDArray[Any], model: pl.LightningModule) -> Tensor:
    """A copy of an array as fractions on the device of a model."""
    if image.dtype.kind == "f":  # torch takes no swapped bytes and no long double
        image = image.astype(np.float64 if image.itemsize > 4 else np.float32)
    pixels = torch.tensor(image, device=model.device).to(model.dtype)
    return pixels / 255 if image.dtype == np.uint8 else pixels


def _check_range(model: pl.LightningModule, image: Tensor) -> None:
    """Checks pixels outside of training, in which an objective may add noise to images.

    A trainer checks its first batch, and does not wait for the values of others.
    """
    checked = getattr(model, "checks_pixels", True) and not model.training
    if not checked or torch.compiler.is_compiling() or _is_in_trainer(model):
        return
    try:
        check_pixels("images", [image])
    except RuntimeError:  # within torch's transformations, such as vmap, tensors have no values
        return


def _is_in_trainer(model: pl.LightningModule) -> bool:
    try:
        return model.trainer.state.status == TrainerStatus.RUNNING
    except RuntimeError:  # no trainer
        return False
