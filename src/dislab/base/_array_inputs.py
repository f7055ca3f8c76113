"""NumPy arrays as inputs of the methods that encode images."""

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch

_ENCODERS: Final = ("codes", "encode", "reconstruct")


def takes_arrays(cls: type) -> None:
    """Lets an objective's encoding methods accept NumPy arrays.

    An array is converted to the device and dtype of the weights; bytes are divided by 255.
    """
    for name in _ENCODERS:
        method = cls.__dict__.get(name)
        if callable(method) and not getattr(method, "__isabstractmethod__", False):
            setattr(cls, name, _taking_arrays(method))


def _taking_arrays(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def taking(self: Any, image: Any) -> Any:
        if not isinstance(image, np.ndarray):
            return method(self, image)
        # a copy, since torch warns about read-only arrays
        pixels = torch.tensor(image, device=self.device)
        if not pixels.is_floating_point():
            pixels = pixels.to(self.dtype)
            pixels = pixels / 255 if image.dtype == np.uint8 else pixels
        with torch.no_grad():
            return method(self, pixels.to(self.dtype))

    return taking
