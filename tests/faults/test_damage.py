"""The campaign of damaged checkpoints in a short form."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_damaged_checkpoints_end_in_a_message() -> None:
    campaign = [sys.executable, str(ROOT / "benchmarks/faults/damage.py"), "--every", "23"]
    done = subprocess.run(campaign, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "each ended in a message or changed nothing that is read" in done.stdout
