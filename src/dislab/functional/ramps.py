"""Schedules as functions of the optimiser step."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def linear_ramp(
    step: Int[Tensor, ""],
    start: float | Float[Tensor, ""],
    end: float | Float[Tensor, ""],
    steps: int,
) -> Float[Tensor, ""]:
    """A value that changes linearly from `start` to `end` over `steps`, then stays constant.

    Start and end may be tensors, so that stacked runs can have different values.

    Args:
        step: Optimiser steps done so far.
        start: Value at step 0.
        end: Value from step `steps` on; the constant value if `steps` is 0.
        steps: Length of the ramp in optimiser steps.
    """
    if steps == 0:
        if isinstance(end, Tensor):
            return torch.zeros((), device=step.device) + end
        return torch.full((), end, dtype=torch.get_default_dtype(), device=step.device)
    return start + (end - start) * (step / steps).clamp(max=1.0)
