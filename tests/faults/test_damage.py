"""The campaign of damaged checkpoints in a short form."""

from pathlib import Path

import pytest
from tests.processes import ended

SCRIPT = Path(__file__).parents[2] / "benchmarks/faults/damage.py"


@pytest.mark.slow
def test_damaged_checkpoints_end_in_a_message(tmp_path: Path) -> None:
    status, output, errors = ended(tmp_path, SCRIPT, "--every", "23", timeout=1200)
    assert status == 0, output[-3000:] + errors[-3000:]
    assert "each ended in a message or changed nothing that is read" in output
