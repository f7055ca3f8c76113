"""Formulas of the docs: LaTeX in pages, MathML in what is built."""

import logging
import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.browsing import opened, started

pytest.importorskip("latex2mathml", reason="the oldest versions are tested without those of docs")

ROOT = Path(__file__).parents[1]
FORMULA = re.compile(r"^ *```math\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
WRITTEN = [
    pytest.param(latex, id=f"{path.relative_to(ROOT / 'docs')}-{number}")
    for path in sorted((ROOT / "docs").rglob("*.md"))
    for number, latex in enumerate(FORMULA.findall(path.read_text()))
]


@pytest.fixture(scope="module")
def module() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "formulas.py"))


@pytest.mark.parametrize("latex", WRITTEN)
def test_every_formula_of_the_pages_is_typeset(latex: str, module: dict[str, Any]) -> None:
    assert module["typeset"](latex).startswith("<math ")


def test_every_method_has_its_objective_as_a_formula() -> None:
    pages = {path.name: path.read_text() for path in (ROOT / "docs" / "methods").glob("*.md")}
    without = {name for name, text in pages.items() if not FORMULA.search(text)}
    assert without == {"index.md", "dittadi.md"}  # the latter has settings of other methods


@pytest.mark.parametrize(
    ("latex", "inside"),
    [
        (r"\frac{a}{b}", "<mfrac><mrow><mi>a</mi></mrow><mrow><mi>b</mi></mrow></mfrac>"),
        (r"\log p", '<mi>log</mi><mspace width="0.167em" /><mi>p</mi>'),
        (r"\log(p)", '<mi>log</mi><mo stretchy="false">(</mo>'),
        (r"\log_2 p", "<msub><mi>log</mi><mn>2</mn></msub><mi>p</mi>"),
        (r"z \sim q", "<mi>z</mi><mo>∼</mo><mi>q</mi>"),
        (r"= -a", '<mo>=</mo><mo form="prefix">−</mo><mi>a</mi>'),
        (r"(a) - b", '<mo stretchy="false">)</mo><mo>−</mo><mi>b</mi>'),
        (r"\text{loss of } x < 1", "<mtext>loss\xa0of\xa0</mtext><mi>x</mi><mo>&lt;</mo>"),
        (r"\begin{split} a &= b \\ &= c \end{split}", "<mtable"),
    ],
)
def test_latex_becomes_mathml(latex: str, inside: str, module: dict[str, Any]) -> None:
    html = module["formula"](latex, "math", "formula")
    assert html.startswith('<div class="formula"><math display="block"><mrow>')
    assert inside in html


@pytest.mark.parametrize(
    ("latex", "reason"),
    [
        (r"\foo + x", r"unknown command \foo"),
        ("{x", "1 braces open and 0 close"),
        ("a}b", "0 braces open and 1 close"),
        (r"\frac{a}", "lacks a part"),
        ("x_", "MissingSuperScriptOrSubscriptError"),
        (r"\left( x", "ExtraLeftOrMissingRightError"),
        ("a & b", "& outside an environment"),
        (r"\begin{aligned} a \end{aligned}", "unknown environment aligned"),
        ("", "NoAvailableTokensError"),
    ],
)
def test_what_cannot_be_typeset_is_a_warning_and_is_shown_as_it_is(
    latex: str, reason: str, module: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    html = module["formula"](latex, "math", "formula")
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert reason in record.getMessage()
    assert record.getMessage().endswith(f"the formula is:\n{latex}")
    assert html == f'<div class="formula"><pre>{latex.replace("&", "&amp;")}</pre></div>'


def built(folder: Path, page: str) -> str:
    """The HTML of a page that is built as `make docs` builds all of them."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    (folder / "docs").mkdir()
    (folder / "docs" / "index.md").write_text(page)
    shutil.copy(ROOT / "docs" / "extra.css", folder / "docs" / "extra.css")
    config = load_config(
        str(ROOT / "mkdocs.yml"),
        docs_dir=str(folder / "docs"),
        site_dir=str(folder / "site"),
        nav=[{"Home": "index.md"}],
        plugins=[],
        hooks=[str(ROOT / "docs" / "formulas.py")],
        strict=True,
    )
    build(config)
    return (folder / "site" / "index.html").read_text()


def test_a_page_is_built_with_its_formula(tmp_path: Path) -> None:
    page = built(
        tmp_path, "# Page\n\n```math\na < b\n```\n\n1. One\n\n    ```math\n    c\n    ```\n"
    )
    assert page.count('<div class="formula"><math display="block">') == 2
    assert "<mi>a</mi><mo>&lt;</mo><mi>b</mi>" in page
    assert "```" not in page


def test_a_page_includes_files_of_the_repository_whatever_folder_it_is_built_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "class_path" in built(tmp_path, '# Page\n\n```yaml\n--8<-- "configs/vae.yaml"\n```\n')


def test_a_strict_build_stops_at_a_formula_that_cannot_be_typeset(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from mkdocs.exceptions import Abort

    with pytest.raises(Abort, match="1 warnings in strict mode"):
        built(tmp_path, "# Page\n\n```math\n\\losss = 1\n```\n")
    assert "unknown command \\losss; the formula is:\n\\losss = 1" in caplog.text


@pytest.mark.slow
def test_a_phone_scrolls_a_wide_formula_from_its_beginning(tmp_path: Path) -> None:
    line = r"\begin{split} a_{\text{first}} &= " + " + ".join(["b"] * 40)
    built(tmp_path, f"# Page\n\n```math\n{line} \\\\ c &= d \\end{{split}}\n```\n")
    browser = started()
    try:
        opened(browser, tmp_path / "site" / "index.html", width=360)
        page, shown, whole, start = browser.execute_script(
            "const box = document.querySelector('.formula');"
            "const first = box.querySelector('msub').getBoundingClientRect();"
            "return [document.documentElement.scrollWidth, box.clientWidth, box.scrollWidth,"
            "  first.left - box.getBoundingClientRect().left]"
        )
        signs = browser.execute_script(
            "return [...document.querySelectorAll('.formula mtd:nth-child(2) mo:nth-of-type(1)')]"
            ".map(equals => equals.getBoundingClientRect().left)"
        )
        names = browser.execute_script(
            "return [...document.querySelectorAll('.formula mtd:first-child > :last-child')]"
            ".map(name => name.getBoundingClientRect().right)"
        )
    finally:
        browser.quit()
    assert page <= 360
    assert whole > shown
    assert start >= 0
    for upper, lower in (signs, names):
        assert upper == pytest.approx(lower, abs=1)  # equals signs stand below each other
