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
    """A page as a notebook (nbformat 4.5): its examples are cells of code, without their outputs.

    Args:
        page: The text of the page, with links relative to the folder above the notebooks.
    """
    cells = []
    for number, part in enumerate(_BLOCK.split(page)):
        source = _code(part) if number % 2 else _LINK.sub("](../", part).strip()
        if not source:
            continue
        kind: dict[str, Any] = {"cell_type": "markdown"}
        if number % 2:
            kind = {"cell_type": "code", "execution_count": None, "outputs": []}
        lines = source.splitlines(keepends=True)
        cells.append({**kind, "id": f"cell-{len(cells)}", "metadata": {}, "source": lines})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _code(block: str) -> str:
    """The lines of a block that are typed; a block without prompts stays as it is."""
    examples = [one for one in DocTestParser().parse(block) if isinstance(one, Example)]
    return "".join(one.source for one in examples).strip() if examples else block.strip()


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
