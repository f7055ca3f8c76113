"""Check that the loss terms stay finite, without synchronising with the device at every step."""

from typing import Final

import torch
from torch import Tensor

from dislab.errors import DivergenceError

_MOST: Final = 1000
"""Largest number of steps between two checks."""


class Watch:
    """Loss terms of every step since the last check, kept on their device."""

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._values: list[list[Tensor]] = []
        self._names: tuple[str, ...] = ()

    def note(self, step: int, terms: dict[str, Tensor]) -> None:
        """Keeps the terms of a step, scalars by name; checks them after a thousand steps."""
        self._names = tuple(terms)
        self._steps.append(step)
        self._values.append([value.detach() for value in terms.values()])
        if len(self._steps) >= _MOST:
            self.look()

    def look(self) -> None:
        """Raises a DivergenceError that names the first step with non-finite terms, and these."""
        if not self._values:
            return
        values = torch.stack([value.float() for step in self._values for value in step])
        wrong = ~values.view(len(self._steps), -1).isfinite()
        if not wrong.any():
            self._steps, self._values = [], []
            return
        first = int(wrong.any(1).nonzero()[0])
        bad = [
            name for name, value in zip(self._names, wrong[first].tolist(), strict=True) if value
        ]
        names = ", ".join([name for name in bad if name not in ("objective", "loss")] or bad)
        raise DivergenceError(
            f"training stopped: {names} became NaN or infinite at optimiser step "
            f"{self._steps[first]}; the last checkpoint is from before; lower the learning rate "
            "or the weights of the penalties"
        )
