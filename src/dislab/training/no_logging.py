"""Losses that nobody may log from, because Lightning could not keep the values."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from dislab.base import Objective


class OwnLogError(RuntimeError):
    """An objective calls `log` where a value would be lost or mixed up."""


@contextmanager
def no_logging(objective: Objective) -> Iterator[None]:
    """Refuses the objective's own `log`: of a recording or a stack, Lightning sees no single step.

    Args:
        objective: The method whose losses are computed meanwhile.

    Raises:
        OwnLogError: It logs; the values that it returns in its terms are no part of this.
    """

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise OwnLogError(f"{type(objective).__name__} logs by itself while it computes its losses")

    vars(objective)["log"] = refuse
    try:
        yield
    finally:
        del vars(objective)["log"]
