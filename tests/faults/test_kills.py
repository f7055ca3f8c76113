"""The campaign of kills in a short form."""

from pathlib import Path

import pytest
from tests.processes import ended

SCRIPT = Path(__file__).parents[2] / "benchmarks/faults/kills.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "moments"),
    [("factorvae", ["checkpoint", "data"]), ("adagvae", ["scoring", "two"])],
)
def test_killed_runs_equal_undisturbed_ones(
    method: str, moments: list[str], tmp_path: Path
) -> None:
    options = ["--methods", method, "--moments", *moments, "--kills", "1"]
    status, output, errors = ended(tmp_path, SCRIPT, *options, timeout=1200)
    assert status == 0, output[-3000:] + errors[-3000:]
    assert "every run equals an undisturbed one" in output
    kills = {line.split()[0]: int(line.split()[2]) for line in output.splitlines()[-3:-1]}
    assert kills.keys() == set(moments)
    assert all(kills[moment] for moment in moments if moment != "two")  # of a clock
