"""Every score obeys and breaks the laws that the table says, and the page says the same."""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.metrics.laws import (
    LAWS,
    SCORES,
    broken_by,
    counterexample,
    from_json,
    movements,
    plain,
    results,
    tried,
)

from dislab.plugins import available
from dislab.testing.constructions import space_of

ROOT = Path(__file__).parents[2]
REPORT: dict[str, Any] = json.loads((ROOT / "benchmarks/results/laws.json").read_text())["results"]


def test_every_score_has_a_line() -> None:
    space = space_of((2, 3))
    with_laws = {type(score.build(space)).__name__ for score in SCORES.values()}
    own = {plugin.name for plugin in available("metrics") if plugin.distribution == "dislab"}
    missing = sorted(own - with_laws)
    assert not missing, (
        f"there are no laws for {', '.join(missing)}: give each a line in SCORES of "
        "tests/metrics/laws.py, run benchmarks/laws.py --scores with its key, and put the verdicts "
        "that it prints into the line"
    )


def test_the_page_has_the_verdicts_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The results, the page made of them, and the table in `laws.py` agree."""
    found = {
        result: frozenset(broken)
        for one in REPORT.values()
        for result, broken in one["broken"].items()
    }
    assert found == {result: broken for result, (_, broken) in results().items()}
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    monkeypatch.delitem(sys.modules, "laws", raising=False)
    script = import_module("laws")
    monkeypatch.delitem(sys.modules, "laws")
    assert script.page(json.loads(script.RESULTS.read_text())) == script.PAGE.read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "key",
    [
        pytest.param(key, marks=pytest.mark.slow) if score.slow else key
        for key, score in SCORES.items()
    ],
)
def test_verdicts(key: str) -> None:
    """Counterexamples of the page still break their laws; other laws hold on the first cases."""
    draws = 1 if SCORES[key].slow else 2
    for result, broken in SCORES[key].breaks.items():
        for law in LAWS:
            if law not in broken:
                assert counterexample(key, law, result, draws=draws) is None, (result, law)
                continue
            example = REPORT[key]["broken"][result][law]
            size = broken_by(law, tried(key, law, from_json(example["case"])), result)
            # processors round a singular covariance, whose logarithm is large, in their own way
            stored = pytest.approx(example["size"], abs=0.02, rel=0.02)
            assert size == stored, (result, law)


@pytest.mark.every(4)
@pytest.mark.parametrize("key", [key for key, score in SCORES.items() if not score.slow])
def test_scores_move_as_the_page_says(key: str) -> None:
    """Every column: none of these scores takes half a second on any of them."""
    for name, case in movements(key):
        for result, moved in REPORT[key]["moved"].items():
            assert plain(key, case)[result] == pytest.approx(moved[name], abs=0.02), (result, name)
