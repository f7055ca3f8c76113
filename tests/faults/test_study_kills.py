"""The campaign of kills on a study, in a short form."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_study_whose_processes_are_killed_equals_an_undisturbed_one() -> None:
    script = str(ROOT / "benchmarks/faults/study_kills.py")
    options = ["--runs", "6", "--stages", "2", "--kills", "4"]
    # Ray takes minutes to miss a process of its own; tests/study/test_commands.py kills its worker
    options += ["--launchers", "processes", "processes"]
    done = subprocess.run(
        [sys.executable, script, *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=1500,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "the table equals that of the undisturbed study" in done.stdout
    assert "1 changes of the launcher" in done.stdout
    assert "4 kills" in done.stdout
