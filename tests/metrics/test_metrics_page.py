"""The figures of docs/metrics.md are those that its benchmark computes."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "metrics_page.py"


@pytest.mark.slow
def test_page_states_computed_figures() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK)], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("as stated:") == 14
