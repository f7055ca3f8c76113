"""The figures of docs/metrics.md are those that its benchmark computes."""

from pathlib import Path

import pytest
from tests.processes import ended

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "metrics_page.py"


@pytest.mark.slow
def test_page_states_computed_figures(tmp_path: Path) -> None:
    status, output, errors = ended(tmp_path, BENCHMARK, timeout=600)
    assert status == 0, output + errors
    assert output.count("as stated:") == 14
