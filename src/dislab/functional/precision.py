"""Loss arithmetic in float32 or wider, whatever the precision of the networks."""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")


def full_precision(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose half-precision tensor arguments arrive as float32, outside any autocast.

    float64 stays float64. At least one positional argument must be a tensor.

    Args:
        function: A function of tensors.
    """

    @functools.wraps(function)
    def widened(*args: P.args, **kwargs: P.kwargs) -> R:
        device = next(value.device.type for value in args if isinstance(value, Tensor))
        wide: tuple[Any, ...] = tuple(_widen(value) for value in args)
        named: dict[str, Any] = {name: _widen(value) for name, value in kwargs.items()}
        with torch.autocast(device, enabled=False):
            return function(*wide, **named)

    return widened


def _widen(value: Any) -> Any:
    if isinstance(value, Tensor) and value.dtype in (torch.bfloat16, torch.float16):
        return value.float()
    return value
