"""Communication between the processes of a distributed run; the identity for one process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Shaped
from torch import Tensor

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
