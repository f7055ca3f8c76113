"""Makes the notebooks of pages whose Python lines are examples with prompts.

python docs/notebooks/convert.py    # after a page has changed; a test compares them
"""

import json
import re
from doctest import DocTestParser, Example
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PAGES = "tutorial", "recipes"
_BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:|#|/)")


def notebook(page: str) -> dict[str, Any]:
    """A page as a notebook (nbformat 4.5), with the outputs of its examples.

    The outputs are those of the page, which the tests compare with what the examples give.

    Args:
        page: The text of the page, with links relative to the folder above the notebooks.
    """
    cells: list[dict[str, Any]] = []
    for number, part in enumerate(_BLOCK.split(page)):
        text = _LINK.sub("](../", part).strip()
        if number % 2:
            cells += _code_cells(part)
        elif text:
            cells.append({"cell_type": "markdown", "source": text})
    count = 0
    for number, cell in enumerate(cells):
        cell |= {"id": f"cell-{number}", "metadata": {}, "source": _lines(cell["source"])}
        if cell["cell_type"] == "code":
            count += 1
            for output in (cell, *cell["outputs"]):
                if "execution_count" in output:
                    output["execution_count"] = count
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _code_cells(block: str) -> list[dict[str, Any]]:
    """The cells of a block: one ends after each output, as a notebook shows only the last."""
    examples = [part for part in DocTestParser().parse(block) if isinstance(part, Example)]
    if not examples:
        return [_code_cell(block.strip(), [])]
    cells, source = [], ""
    for example in examples:
        source += example.source
        if example.want:
            cells.append(_code_cell(source.strip(), [_output(example)]))
            source = ""
    return [*cells, _code_cell(source.strip(), [])] if source else cells


def _code_cell(source: str, outputs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": None, "outputs": outputs, "source": source}


def _output(example: Example) -> dict[str, Any]:
    """What a notebook stores of an example's printed lines or value."""
    if example.source.startswith("print("):
        return {"name": "stdout", "output_type": "stream", "text": _lines(example.want)}
    return {
        "data": {"text/plain": _lines(example.want.strip())},
        "execution_count": None,
        "metadata": {},
        "output_type": "execute_result",
    }


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def text_of(name: str) -> str:
    """The notebook of a page as it is stored.

    Args:
        name: Of the page, without its ending.
    """
    page = (FOLDER.parent / f"{name}.md").read_text(encoding="utf-8")
    return json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all notebooks."""
    for name in PAGES:
        (FOLDER / f"{name}.ipynb").write_text(text_of(name), encoding="utf-8")


if __name__ == "__main__":
    main()
