"""Runs of a pack on the device, which are the same as alone."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.gpu.place import IS_SIMULATED
from tests.gpu.test_graphs import check_close
from tests.gpu.test_runs import fitted

from dislab.callbacks import InnerSteps
from dislab.training.packed import fit_packed
from dislab.training.stack import Stack

CLOSE: dict[str, Any] = (
    {"rtol": 1e-5, "atol": 1e-5} if IS_SIMULATED else {"rtol": 1e-2, "atol": 1e-3}
)


def test_runs_are_as_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    step = Stack.step

    def counted(self: Stack, batches: Any, number: int) -> None:
        made.append(len(batches))
        step(self, batches, number)

    monkeypatch.setattr(Stack, "step", counted)
    runs = [
        partial(fitted, tmp_path / f"packed{seed}", InnerSteps(1000), seed=seed)
        for seed in range(3)
    ]
    packed = fit_packed(runs)
    assert set(made) == {3}
    assert len(made) >= 10
    for seed, one in enumerate(packed):
        check_close(fitted(tmp_path / f"alone{seed}", InnerSteps(1000), seed=seed), one, **CLOSE)
