"""How a run computes: precision of its losses, and exchange between its processes."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, ParamSpec, TypeVar

import torch
import torch.distributed as dist
from jaxtyping import Shaped
from torch import Tensor

from dislab.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")

_HALF: Final = (torch.bfloat16, torch.float16)
_OF_WEIGHTS: Final = ("bf16-true", "16-true")


def check_precision(precision: str | int | None) -> None:
    """Refuses precisions that keep the weights themselves in half precision.

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
    """The tensor in float32 if it is in half precision, else unchanged."""
    return tensor.float() if tensor.dtype in _HALF else tensor


def _widen(value: Any) -> Any:
    return widen(value) if isinstance(value, Tensor) else value


_alone = False


@contextmanager
def alone() -> Iterator[None]:
    """Within the block, compute as a single process, without communication."""
    global _alone
    before, _alone = _alone, True
    try:
        yield
    finally:
        _alone = before


def world() -> tuple[int, int]:
    """Rank of this process and number of processes; (0, 1) without distribution."""
    if not _alone and dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def own_rows(rows: Shaped[Tensor, "all *rest"]) -> Shaped[Tensor, "batch *rest"]:
    """This process's slice of the rows of a global batch.

    Args:
        rows: One row per image of the global batch, the same in every process.
    """
    rank, size = world()
    if size == 1:
        return rows
    share = len(rows) // size
    return rows[rank * share : (rank + 1) * share]


def gather_rows(rows: Shaped[Tensor, "batch *rest"]) -> Shaped[Tensor, "all *rest"]:
    """The rows of every process in the order of their ranks, differentiable.

    The gradient of a row is summed over the processes, so that with gradients averaged over
    processes (as DDP does) the result equals that of one process with the global batch.

    Args:
        rows: One row per image of this process's batch; equally many in every process.
    """
    if world()[1] == 1:
        return rows
    gathered: Tensor = _Gather.apply(rows)  # type: ignore[no-untyped-call]
    return gathered


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        ctx.count = len(rows)
        parts = [torch.empty_like(rows) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, rows.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        # a copy, because autograd may share the tensor with other nodes
        total = gradient.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        start = dist.get_rank() * ctx.count
        return total[start : start + ctx.count]


_SIGNS: Final = ("gloo", "Connection closed by peer", "Connection reset by peer", "NCCL", "Socket")


def lost_another(error: RuntimeError) -> bool:
    """Whether a process failed while waiting for another one that had ended."""
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return False
    if isinstance(error, dist.DistBackendError | dist.DistNetworkError):
        return True
    return any(sign in str(error) for sign in _SIGNS)
