"""The campaign of kills on a study, in a short form."""

from pathlib import Path

import pytest
from tests.processes import ended

SCRIPT = Path(__file__).parents[2] / "benchmarks/faults/study_kills.py"


@pytest.mark.slow
def test_a_study_whose_processes_are_killed_equals_an_undisturbed_one(tmp_path: Path) -> None:
    options = ["--runs", "6", "--stages", "2", "--kills", "4"]
    # Ray takes minutes to miss a process of its own; tests/study/test_commands.py kills its worker
    options += ["--launchers", "processes", "processes"]
    status, output, errors = ended(tmp_path, SCRIPT, *options, timeout=1500)
    assert status == 0, output[-3000:] + errors[-3000:]
    assert "the table equals that of the undisturbed study" in output
    assert "1 changes of the launcher" in output
    assert "4 kills" in output
