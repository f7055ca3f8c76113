"""The runnable examples of the methods' pages."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "docs/examples").glob("*.py"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # of Lightning: workers, logging
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_prints_a_result(
    example: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for plugin in sorted(ROOT.glob("plugins/*/src")):  # which need not be installed
        monkeypatch.syspath_prepend(plugin)
    runpy.run_path(str(example))["main"](steps=2)
    assert capsys.readouterr().out.strip()
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".png"] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_stands_in_a_page(example: Path) -> None:
    assert len(example.read_text().splitlines()) <= 60
    pages = "".join(page.read_text() for page in (ROOT / "docs").rglob("*.md"))
    assert pages.count(f'--8<-- "docs/examples/{example.name}"') == 1


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_scores_without_nuisance_factors(example: Path) -> None:
    text = example.read_text()
    assert "factor_names" not in text.replace("data.factor_names, data.factor_sizes", "")
    for call in re.findall(r"evaluate_fully\(.*\)$", text, re.MULTILINE):
        assert call.endswith(("space=data.factors)", "space=items.factors)"))
