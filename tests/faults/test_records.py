"""The campaign of foreign folders and mutated records in a short form."""

from importlib import import_module
from pathlib import Path

import pytest
from tests.processes import ended

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_mutated_records_end_in_a_message_and_touch_nothing_else(tmp_path: Path) -> None:
    script = ROOT / "benchmarks/faults/records.py"
    status, output, errors = ended(tmp_path, script, "--every", "29", timeout=1200)
    assert status == 0, output[-3000:] + errors[-3000:]
    table = {line.split()[0]: line.split()[1:] for line in output.splitlines()}
    mutations, refused, read, violations = map(int, table["all"])
    assert mutations > 40
    assert refused > 10
    assert read > 40
    assert violations == 0


@pytest.mark.parametrize(
    ("mutation", "text", "expected"),
    [
        ("cut", "runs/a/scores.json is damaged", True),
        ("base.3: 'x'", "base must list files", True),
        ("without versions.torch", "torch has no version", True),
        ("base.3: 'x'", "3 is no file", False),
        ("cut", "a file is damaged", False),
    ],
)
def test_a_refusal_names_folder_or_setting(
    monkeypatch: pytest.MonkeyPatch, mutation: str, text: str, expected: bool
) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks/faults")
    records = import_module("records")
    case = records.Case(Path("runs/a/scores.json"), mutation, b"")
    assert records.names_its_source(case, text) is expected
