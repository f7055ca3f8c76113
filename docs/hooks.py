"""Generated parts of the docs: tables of plugins and results, the changelog, and the explorer."""

import inspect
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent
from typing import TYPE_CHECKING, Any

from dislab.cli import main as dislab
from dislab.plugins import Plugin, available, load_all

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
ZOO = ROOT / "plugins" / "dislab-zoo" / "src" / "dislab_zoo" / "files"
HOME = "adagvae-shapes3d"  # of configs/home.yaml
KINDS = ("added", "changed", "fixed")  # of fragments, in the order of pyproject.toml


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Adds the latent explorer of the home page."""
    from mkdocs.structure.files import File  # not there where the lowest versions are tested

    files.append(File.generated(config, "explorer.html", content=explorer()))
    return files


def explorer() -> str:
    """The page of the latent explorer of the home page's model, which is in the zoo."""
    with TemporaryDirectory() as folder:
        page = Path(folder, "explorer.html")
        if dislab(["report", str(ZOO / HOME), "--explorer-only", "--out", str(page)]):
            raise SystemExit("the explorer of the home page was not written")
        return page.read_text(encoding="utf-8")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with its generated tables.

    `<!-- plugins: group -->` becomes the table of a group, `<!-- datasets -->` that of the data
    sets, `<!-- results: file table -->` a table that a benchmark wrote to
    `benchmarks/results/file.json`, `<!-- zoo -->` that of the trained models, and
    `<!-- changelog -->` all changes, the next ones first.
    """
    page = re.sub(r"<!-- plugins: (\w+) -->", lambda found: _table(found[1]), markdown)
    page = re.sub("<!-- datasets -->", lambda _: _datasets(), page)
    page = re.sub("<!-- zoo -->", lambda _: _zoo(), page)
    page = re.sub("<!-- changelog -->", lambda _: _changelog(), page)
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


def _datasets() -> str:
    """The table of data sets, from their classes; settings decide how to get the images."""
    classes = load_all(("datasets",))["datasets"]
    rows = [_dataset(plugin, classes[plugin.name]) for plugin in available("datasets")]
    heading = "| name | images | shape | factors and their values | licence | images are |"
    return "\n".join([heading, "|---|---|---|---|---|---|", *rows])


def _dataset(plugin: Plugin, cls: Any) -> str:
    contents = str(plugin.constants.get("contents"))
    known = re.fullmatch(r"(?:([\d,]+)|(.*?)) ?images.* (\d+)×(\d+)×(\d+): (.*)", contents)
    cells = [f"`{plugin.name}`", "yours", "yours", "yours"]
    if known:
        count, _, height, width, channels, factors = known.groups()
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
        found = json.loads(path.read_text(encoding="utf-8"))
        size = sum(one.stat().st_size for one in path.parent.iterdir()) / 1e6
        half = found["rescored"]["half"]
        rows.append(
            [
                f"`{path.parent.name}`",
                f"`{found['data']}`, {found['provenance']}",
                "×".join(map(str, found["image_shape"])),
                f"{found['steps']:,}",
                f"{size:.1f}",
                *(f"{half[score]:.2f}" for score in scores),
                found["selected"],
                found["data_licence"],
            ]
        )
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _changelog() -> str:
    """The fragments of the next release, by kind, and the releases of CHANGELOG.md."""
    sections = []
    for kind in KINDS:
        texts = [path.read_text() for path in sorted((ROOT / "changelog.d").glob(f"*.{kind}.md"))]
        bullets = [f"- {indent(text.strip(), '  ').lstrip()}" for text in texts]
        sections += [f"### {kind.capitalize()}", "\n".join(bullets)] if bullets else []
    released = (ROOT / "CHANGELOG.md").read_text().partition("release notes start -->")[2]
    return "\n\n".join([*(["## Next release", *sections] if sections else []), released])


def _results(name: str, table: str) -> str:
    found = json.loads((RESULTS / f"{name}.json").read_text())["tables"][table]
    rows = [found["header"], ["---"] * len(found["header"]), *found["rows"]]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
