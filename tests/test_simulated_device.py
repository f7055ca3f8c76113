"""`tests/simulated` and much of `tests/gpu` on the simulated device.

In a process of its own, for the device stays for the life of one.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from torch.utils import backend_registration

ROOT = Path(__file__).parents[1]
CARDS = "data", "graphs", "objectives", "parts", "runs", "streams"
OF_CARDS = [f"tests/gpu/test_{name}.py" for name in CARDS]
"""Where the simulated device stands in for a card; it has no autocast, and no name for commands."""


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(backend_registration, "_setup_privateuseone_for_python_backend"),
    reason="this release of PyTorch has no backends in Python",
)
def test_everything_runs_on_a_simulated_device() -> None:
    rooms = ["tests/simulated", *OF_CARDS]
    command = [sys.executable, "-m", "pytest", "-q", *rooms, "-k", "not half_precision"]
    command.append("--jaxtyping-packages=")  # types are checked on the processor
    environment = {**os.environ, "DISLAB_SIMULATED_DEVICE": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
