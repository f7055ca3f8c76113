"""Notebooks are those of their pages, and run from top to bottom."""

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
@pytest.mark.parametrize("name", PAGES)
def test_a_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 5
    shared: dict[str, Any] = {"__name__": "__main__"}
    for number, source in enumerate(code):
        exec(compile(source, f"{name}.ipynb, cell {number}", "exec"), shared)
