"""Writes the tables of the docs between their markers: `python docs/tables.py`.

A table stands between `<!-- table: what -->` and `<!-- end -->`, where `what` is

    plugins GROUP       the plug-ins of a group, of dislab itself
    datasets            the data sets with their factors and licences
    zoo                 the trained models
    results FILE NAME   a table that a benchmark wrote into benchmarks/results/FILE.json
    summary STUDY NAME  a table of docs/results/STUDY/summary.md, which `dislab study summary` wrote
    verdicts            the numbers of verdicts in each part of docs/results/what_comes_out.md
"""

import inspect
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Container
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final

from dislab.plugins import Plugin, available, load_all

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
ZOO = ROOT / "plugins" / "dislab-zoo" / "src" / "dislab_zoo" / "files"
CLAIMS = ROOT / "docs" / "results" / "what_comes_out.md"
VERDICTS = ("yes", "partly", "no", "example", "not tried")
MARKED = re.compile(r"<!-- table: ([\w ]+) -->\n(?:.*?\n)??<!-- end -->", re.DOTALL)


def pages() -> list[Path]:
    """The pages that have tables."""
    files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in files if MARKED.search(page.read_text(encoding="utf-8"))]


def filled(page: str, left_out: Container[str] = ()) -> str:
    """The text of a page with all tables as their sources have them now, but for some kinds."""

    def table(marked: re.Match[str]) -> str:
        kind, *names = marked[1].split()
        if kind in left_out:
            return marked[0]
        return f"<!-- table: {marked[1]} -->\n\n{TABLES[kind](*names)}\n\n<!-- end -->"

    return MARKED.sub(table, page)


def _plugins(group: str) -> str:
    rows = [
        f"| `{plugin.name}` | {plugin.summary} |"
        for plugin in available(group)
        if plugin.distribution == "dislab"  # whatever else is installed where the pages are made
    ]
    return "\n".join(["| name | what it is |", "|---|---|", *rows])


def _datasets() -> str:
    """The table of data sets, from their classes; settings decide how to get the images."""
    classes = load_all(("datasets",))["datasets"]
    plugins = [plugin for plugin in available("datasets") if plugin.distribution == "dislab"]
    rows = [_dataset(plugin, classes[plugin.name]) for plugin in plugins]
    heading = "| name | images | shape | factors and their values | licence | images are |"
    return "\n".join([heading, "|---|---|---|---|---|---|", *rows])


def _dataset(plugin: Plugin, cls: Any) -> str:
    contents = str(plugin.constants.get("contents"))
    described = re.fullmatch(r"(?:([\d,]+)|(.*?)) ?images.* (\d+)×(\d+)×(\d+): (.*)", contents)
    cells = [f"`{plugin.name}`", "yours", "yours", "yours"]
    if described:
        count, _, height, width, channels, factors = described.groups()
        cells[1:] = [count or "as published", f"{channels}×{height}×{width}", factors]
    settings = inspect.signature(cls).parameters
    if "source" in settings:
        cells.append(f"{plugin.constants['licence']} | drawn; read with `source: official`")
    elif "download" in settings:
        cells.append(f"{plugin.constants['licence']} | read; fetched with `download: true`")
    else:
        files = "read from files that you have" if {"path", "folder"} & set(settings) else "drawn"
        cells.append(f"{plugin.constants['licence']} | {files}")
    return "| " + " | ".join(cells) + " |"


def _zoo() -> str:
    """The table of trained models, from their files."""
    scores = {
        "mig": "MIG",
        "sap_r2": "SAP",
        "factor_vae_score": "FactorVAE score",
        "dci_hgbt_disentanglement": "DCI D",
    }
    heads = ["name", "data", "image", "steps", "MB", *scores.values(), "selected", "data licence"]
    rows = [heads, ["---"] * len(heads)]
    for path in sorted(ZOO.glob("*/zoo.json")):
        model = json.loads(path.read_text(encoding="utf-8"))
        size = sum(file.stat().st_size for file in path.parent.iterdir()) / 1e6
        half = model["rescored"]["half"]
        rows.append(
            [
                f"`{path.parent.name}`",
                f"`{model['data']}`, {model['provenance']}",
                "×".join(map(str, model["image_shape"])),
                f"{model['steps']:,}",
                f"{size:.1f}",
                *(f"{half[score]:.2f}" for score in scores),
                model["selected"],
                model["data_licence"],
            ]
        )
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _results(name: str, table: str) -> str:
    result = json.loads((RESULTS / f"{name}.json").read_text())["tables"][table]
    cells = [[re.sub(r"(?<![\w.)-])-(?=\d)", "−", cell) for cell in row] for row in result["rows"]]
    rows = [result["header"], ["---"] * len(result["header"]), *cells]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _summary(study: str, table: str) -> str:
    text = (ROOT / "docs" / "results" / study / "summary.md").read_text(encoding="utf-8")
    start, end = (f"<!-- --8<-- [{side}:{table}] -->" for side in ("start", "end"))
    return text.partition(start)[2].partition(end)[0].strip()


def _verdicts() -> str:
    """The table of the numbers of verdicts, from the rows of the page itself."""
    page = filled(CLAIMS.read_text(encoding="utf-8"), left_out=["verdicts"])
    counts = {}
    for part in page.split("\n## ")[1:]:
        tables = re.findall(r"^\|.*comes out \|\n\|.*\n((?:\|.*\n)*)", part, re.MULTILINE)
        cells = [row.rstrip(" |").rpartition("| ")[2] for row in "".join(tables).splitlines()]
        if cells:
            counts[part.partition("\n")[0]] = Counter(re.split("[:;,]", cell)[0] for cell in cells)
    counts["all"] = sum(counts.values(), Counter())
    unknown = set(counts["all"]) - set(VERDICTS)
    if unknown:
        sys.exit(f"{CLAIMS} has other verdicts than {', '.join(VERDICTS)}: {', '.join(unknown)}")
    verdicts = [verdict for verdict in VERDICTS if counts["all"][verdict]]
    rows = [
        [name, count.total(), *(count[verdict] for verdict in verdicts)]
        for name, count in counts.items()
    ]
    heads = ["claims of", "claims", *verdicts]
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


TABLES: Final[dict[str, Callable[..., str]]] = {
    "plugins": _plugins,
    "datasets": _datasets,
    "zoo": _zoo,
    "results": _results,
    "summary": _summary,
    "verdicts": _verdicts,
}


def _check_installed() -> None:
    """Refuses an environment whose dislab is older than pyproject.toml: rows would go missing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for group, parts in project["entry-points"].items():
        installed = {part.name for part in distribution("dislab").entry_points.select(group=group)}
        if installed != set(parts):
            sys.exit(
                f"the installed dislab declares other parts of {group} than pyproject.toml: "
                f"{', '.join(sorted(installed ^ set(parts)))}; run pip install -e . and try again"
            )


if __name__ == "__main__":
    _check_installed()
    for path in pages():
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
