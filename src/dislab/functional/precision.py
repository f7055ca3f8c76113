"""Loss arithmetic in float32 or wider, whatever the precision of the networks."""

import functools
from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeVar

import torch
from jaxtyping import Shaped
from torch import Tensor

from dislab.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")

_HALF: Final = (torch.bfloat16, torch.float16)
_OF_WEIGHTS: Final = ("bf16-true", "16-true")


def check_precision(precision: str | int | None) -> None:
    """Refuses precisions that keep the weights themselves in half precision.

    Args:
        precision: The `precision` setting of a Lightning trainer.

    Raises:
        InputError: The weights would be in half precision.
    """
    if precision in _OF_WEIGHTS:
        raise InputError(
            f"precision {precision!r} keeps the weights in half precision, in which losses and "
            "draws are too inaccurate; use bf16-mixed or 16-mixed"
        )


def full_precision(function: Callable[P, R]) -> Callable[P, R]:
    """Wraps a function: converts half-precision arguments to float32, and disables autocast.

    float64 stays float64. At least one positional argument must be a tensor.

    Args:
        function: A function of tensors.
    """

    @functools.wraps(function)
    def widened(*args: P.args, **kwargs: P.kwargs) -> R:
        wide: list[Any] = list(args)
        device = ""
        for index, value in enumerate(args):
            if isinstance(value, Tensor):
                device = device or value.device.type
                wide[index] = widen(value)
        keywords: Any = (
            {name: _widen(value) for name, value in kwargs.items()} if kwargs else kwargs
        )
        if not torch.is_autocast_enabled(device):  # disabling it takes longer than a small loss
            return function(*wide, **keywords)
        with torch.autocast(device, enabled=False):
            return function(*wide, **keywords)

    return widened


def widen(tensor: Shaped[Tensor, "*shape"]) -> Shaped[Tensor, "*shape"]:
    """The tensor in float32 if it is in half precision, else unchanged.

    Args:
        tensor: Any tensor.
    """
    return tensor.float() if tensor.dtype in _HALF else tensor


def _widen(value: Any) -> Any:
    return widen(value) if isinstance(value, Tensor) else value
