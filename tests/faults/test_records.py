"""The campaign of foreign folders and mutated records in a short form."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_mutated_records_end_in_a_message_and_touch_nothing_else() -> None:
    campaign = [sys.executable, str(ROOT / "benchmarks/faults/records.py"), "--every", "29"]
    done = subprocess.run(campaign, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    table = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
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
