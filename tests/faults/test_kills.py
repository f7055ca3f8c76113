"""The campaign of kills in a short form."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "moments"),
    [("factorvae", ["checkpoint", "data"]), ("adagvae", ["scoring", "two"])],
)
def test_killed_runs_equal_undisturbed_ones(method: str, moments: list[str]) -> None:
    campaign = [sys.executable, str(ROOT / "benchmarks/faults/kills.py")]
    done = subprocess.run(
        [*campaign, "--methods", method, "--moments", *moments, "--kills", "1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "every run equals an undisturbed one" in done.stdout
    kills = {line.split()[0]: int(line.split()[2]) for line in done.stdout.splitlines()[-3:-1]}
    assert kills.keys() == set(moments)
    assert all(kills[moment] for moment in moments if moment != "two")  # of a clock
