"""A CUDA graph of the device made of Python: operations recorded once and done again.

As on a card, recording leaves all tensors as they are, a host that waits is refused, memory of the
host is too, and numbers that the host knew while it recorded stay as they were.
"""

from collections.abc import Callable
from typing import Any

import torch
from tests.simulated.device import no_waiting, recordings, tensors_in
from torch import Tensor


class SimulatedRecording:
    """Operations on tensors of the host, with the tensors that hold their results."""

    def __init__(self) -> None:
        self._operations: list[tuple[Any, Any, dict[str, Any], Any]] = []
        self._before: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}

    def warm_up(self, work: Callable[[], None]) -> None:
        work()

    def record(self, work: Callable[[], None]) -> None:
        recordings.append(self)
        try:
            with no_waiting():
                work()
        finally:
            recordings.remove(self)
            for storage, content in self._before.values():
                storage.copy_(content)
            self._before.clear()

    def replay(self) -> None:
        with torch.no_grad():
            for func, args, kwargs, out in self._operations:
                again = func(*args, **kwargs)
                for mine, other in zip(_made(func, out), _made(func, again), strict=True):
                    mine.copy_(other)

    def keep(self, func: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """Keeps the content of tensors that the operation is about to change."""
        for place, argument in enumerate(func._schema.arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            given = args[place] if place < len(args) else kwargs.get(argument.name)
            for tensor in tensors_in(given):
                storage = tensor.untyped_storage()
                if storage.data_ptr() not in self._before:
                    content = torch.UntypedStorage(len(storage)).copy_(storage)  # type: ignore[no-untyped-call]
                    self._before[storage.data_ptr()] = storage, content

    def note(self, func: Any, args: Any, kwargs: dict[str, Any], out: Any) -> None:
        self._operations.append((func, args, kwargs, out))


def _made(func: Any, out: Any) -> list[Tensor]:
    """The results that are tensors of their own, neither views nor arguments."""
    returned = func._schema.returns
    if not returned:
        return []
    outs = out if len(returned) > 1 else (out,)
    return [
        tensor
        for one, value in zip(returned, outs, strict=True)
        if one.alias_info is None
        for tensor in tensors_in([value])
    ]
