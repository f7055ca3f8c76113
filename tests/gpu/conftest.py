"""Tests of a CUDA device, marked `gpu`.

With `DISLAB_SIMULATED_DEVICE` they run on the device made of Python instead, so that they are known
to work where there is no card; see `tests/test_simulated_device.py`.
"""

import sys
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what is in this folder."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.gpu)


@pytest.fixture(autouse=True)
def _plain_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Convolutions as exact as the host's, and the same every time."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
