"""Notebooks are those of their pages, and run from top to bottom."""

import ast
import json
import runpy
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
CONVERT: dict[str, Any] = runpy.run_path(str(FOLDER / "convert.py"))
PAGES: tuple[str, ...] = CONVERT["PAGES"]


@pytest.mark.parametrize("name", PAGES)
def test_a_notebook_is_its_page(name: str) -> None:
    stored = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    assert stored == CONVERT["text_of"](name), "run: python docs/notebooks/convert.py"


@pytest.mark.slow
@pytest.mark.usefixtures("lightnings_level")
@pytest.mark.parametrize("name", PAGES)
def test_a_notebook_gives_its_outputs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    cells = [cell for cell in cells if cell["cell_type"] == "code"]
    assert sum(bool(cell["outputs"]) for cell in cells) >= 4
    shared: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells:
        stored = ["".join(output["data"]["text/plain"]) for output in cell["outputs"]]
        value = value_of("".join(cell["source"]), shared)
        assert stored in ([], [repr(value)])


def value_of(source: str, shared: dict[str, Any]) -> Any:
    """Runs a cell, and returns the value of its last line, if that is an expression."""
    *lines, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        lines.append(last)
    exec(compile(ast.Module(lines, []), "cell", "exec"), shared)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "cell", "eval"), shared)
    return None
