"""Tables that the pages generate from the declared plugins."""

import re
from typing import Any

from dislab.plugins import available


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with each `<!-- plugins: group -->` replaced by that group's table."""
    return re.sub(r"<!-- plugins: (\w+) -->", lambda found: _table(found[1]), markdown)


def _table(group: str) -> str:
    rows = [
        f"| `{plugin.name}` | {plugin.summary} |"
        for plugin in available(group)
        if plugin.distribution == "dislab"  # whatever else is installed where the pages are made
    ]
    return "\n".join(["| name | what it is |", "|---|---|", *rows])
