"""Refusal of `log` calls in losses whose values Lightning could not keep."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from dislab.base import Objective


class OwnLogError(RuntimeError):
    """An objective calls `log` in a recording or a stack, where values would be lost or mixed."""


@contextmanager
def no_logging(objective: Objective) -> Iterator[None]:
    """Refuses the objective's `log`: Lightning sees no single steps in a recording or a stack.

    Args:
        objective: The method whose losses are computed in the block.

    Raises:
        OwnLogError: The objective calls `log`; values in its terms are allowed.
    """

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise OwnLogError(f"{type(objective).__name__} logs by itself while it computes its losses")

    vars(objective)["log"] = refuse
    try:
        yield
    finally:
        del vars(objective)["log"]
