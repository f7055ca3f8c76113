"""The campaign of malformed inputs, in its short form."""

import json
from pathlib import Path

import pytest
from tests.processes import ended

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "faults" / "inputs.py"


@pytest.mark.slow
def test_a_sample_of_malformed_inputs_ends_in_one_message_each(tmp_path: Path) -> None:
    out = tmp_path / "record.json"
    _, _, errors = ended(tmp_path, SCRIPT, "--short", "--json", str(out))
    assert out.is_file(), errors
    record = json.loads(out.read_text())
    assert record["violations"] == []
    counts = record["groups"].values()
    assert sum(one.get("constructor", 0) for one in counts) >= 350
    assert sum(one.get("command", 0) for one in counts) >= 20
    assert sum(one.get("refused", 0) for one in counts) >= 300
