"""Recognises errors in a distributed run that result from the end of another process."""

from typing import Final

import torch.distributed as dist

_SIGNS: Final = ("gloo", "Connection closed by peer", "Connection reset by peer", "NCCL", "Socket")


def lost_another(error: RuntimeError) -> bool:
    """Whether a process failed while waiting for another one that had ended."""
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return False
    if isinstance(error, dist.DistBackendError | dist.DistNetworkError):
        return True
    return any(sign in str(error) for sign in _SIGNS)
