"""Tests on a device made of Python, which stays for the life of a process.

Nothing here is collected where `DISLAB_SIMULATED_DEVICE` is not set. The test
`tests/test_simulated_device.py` sets it, for a process of its own.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

collect_ignore_glob = ["[!t]*.py"]
if os.environ.get("DISLAB_SIMULATED_DEVICE"):
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.simulated import device

    device.install()
else:
    collect_ignore_glob.append("*.py")


@pytest.fixture(autouse=True)
def _nothing_noted() -> Iterator[None]:
    device.waits.clear()
    yield
    device.waits.clear()
