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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # of Lightning: workers, logging
@pytest.mark.parametrize(
    ("example", "printed", "least"),
    [
        ("plain_loop", r"^MIG (\S+), by", [0.3]),
        ("betatcvae", r"^dci_hgbt_disentanglement (\S+),", [0.2, 0.7]),  # β = 1, β = 6
    ],
)
def test_an_example_shows_about_what_it_says(
    example: str, printed: str, least: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(ROOT / f"docs/examples/{example}.py"))["main"]()
    found = re.findall(printed, capsys.readouterr().out, re.MULTILINE)
    assert all(float(a) > b for a, b in zip(found, least, strict=True)), found


def test_every_example_says_what_to_expect() -> None:
    assert [path.name for path in EXAMPLES if "\nExpect " not in path.read_text()] == []
