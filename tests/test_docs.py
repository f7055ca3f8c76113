import doctest
import runpy
from pathlib import Path

import pytest

from dislab.plugins import GROUPS, available

ROOT = Path(__file__).parents[1]


PAGES = ["README.md", "docs/tutorial.md", "docs/predictors.md", "docs/transfer.md"]


@pytest.mark.parametrize("page", PAGES)
def test_every_python_line_of_the_page_is_true(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    failures, examples = doctest.testfile(str(ROOT / page), module_relative=False)
    assert examples > 0
    assert failures == 0


def test_every_page_is_in_the_navigation_and_exists() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert {page for page in pages if page not in navigation} == set()


def test_every_group_has_a_generated_table() -> None:
    text = (ROOT / "docs/plugins.md").read_text()
    for group in GROUPS:
        assert f"<!-- plugins: {group} -->" in text
        assert all(plugin.summary for plugin in available(group))


def test_every_data_set_is_in_the_table_of_its_page() -> None:
    hooks = runpy.run_path(str(ROOT / "docs/hooks.py"))
    before, _, after = hooks["on_page_markdown"]((ROOT / "docs/datasets.md").read_text()).partition(
        "\n\nA number behind"
    )
    assert after
    rows = {line.split("`")[1]: line for line in before.splitlines() if line.startswith("| `")}
    for plugin in available("datasets"):
        assert rows[plugin.name].count("|") == 7
    assert "| 480,000 | 3×64×64 | floor_hue 10, " in rows["Shapes3D"]
    assert rows["Shapes3D"].endswith("| Apache-2.0 | drawn; read with `source: official` |")
    assert rows["GaussianBlob"].endswith("| drawn |")
