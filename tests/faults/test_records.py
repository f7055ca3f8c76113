"""The campaign of foreign folders and mutated records in a short form."""

import subprocess
import sys
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
