"""Tables that the pages generate from the declared plugins and from measured results."""

import json
import re
from pathlib import Path
from typing import Any

from dislab.plugins import available

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with its generated tables.

    `<!-- plugins: group -->` becomes the table of a group, and `<!-- results: file table -->` a
    table that a benchmark wrote to `benchmarks/results/file.json`.
    """
    page = re.sub(r"<!-- plugins: (\w+) -->", lambda found: _table(found[1]), markdown)
    return re.sub(
        r"<!-- results: (\w+) (\w+) -->", lambda found: _results(found[1], found[2]), page
    )


def _table(group: str) -> str:
    rows = [
        f"| `{plugin.name}` | {plugin.summary} |"
        for plugin in available(group)
        if plugin.distribution == "dislab"  # whatever else is installed where the pages are made
    ]
    return "\n".join(["| name | what it is |", "|---|---|", *rows])


def _results(name: str, table: str) -> str:
    found = json.loads((RESULTS / f"{name}.json").read_text())["tables"][table]
    rows = [found["header"], ["---"] * len(found["header"]), *found["rows"]]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
