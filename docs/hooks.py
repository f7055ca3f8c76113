"""Generated parts of the built docs: changelog, explorer, headings of stacked tables."""

import re
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent
from typing import TYPE_CHECKING, Any

from dislab.cli import main as dislab

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
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
        with redirect_stdout(None):  # which names the page
            failed = dislab(["report", str(ZOO / HOME), "--explorer_only", "--out", str(page)])
        if failed:
            raise SystemExit("the explorer of the home page was not written")
        return page.read_text(encoding="utf-8")


OUTSIDE = re.compile(r"\[(`[^`]+`)\]\((?:\.\./)+(?:configs|plugins)/[^)]*\)")
"""Links to included files, for readers of the Markdown; the site has no such file."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with the names of included files instead of links to them, and with all changes.

    Changes stand in the place of `<!-- changelog -->`, the next ones first. Examples with
    prompts are sessions, of which the button copies the commands alone (extra.css).
    """
    markdown = OUTSIDE.sub(r"\1", markdown).replace("```python\n>>> ", "```pycon\n>>> ")
    return re.sub("<!-- changelog -->", lambda _: _changelog(), markdown)


STACKED = re.compile(
    r"<table>\n<thead>\n<tr>\n<th>"
    r"(?:claim\b|question<|finding<|you have<|you want<"
    r"|score</th>\n<th>what it is<|</th>\n<th>here<).*?</table>",
    re.DOTALL,
)
"""Tables of sentences: claims, questions, findings, scores, settings beside a paper's."""


UNBROKEN = re.compile(r"(?<=±) (?=\d)|(?<=\d,) (?=[−+-]?[\d.]+\])|(?<=\d to) (?=[−\d.]+\))")
"""Spaces within an interval, or before a deviation or the end of a range."""


NAME = re.compile(r"(?<=<td><code>)[\w.&;/-]+(?=</code>)")
WORDS = re.compile(r"(?<=[._/-])(?=\w)|(?<=[a-z0-9])(?=[A-Z])")
"""Names that fill a cell from its beginning, and where a phone may break them."""


PICTURE = re.compile(r'<img alt="[^"]*" src="([^"]+)" />')


RANK = {"api": 0.5, "results": 0.5, "changelog.md": 0.2, "measurements.md": 0.5}
"""Weights in the search of pages that repeat the words of others."""


def on_page_content(html: str, page: "Page", **_: Any) -> str:
    """The page with tables of sentences whose cells a phone stacks, each below its heading.

    The search puts guides before lists and tables. On the pages of results no line breaks within
    an interval, and a picture leads to its full size, to which a phone scrolls (extra.css).
    """
    page.meta["search"] = {"boost": RANK.get(page.file.src_uri.partition("/")[0], 1)}
    if page.file.src_uri.startswith("results/"):
        html = UNBROKEN.sub("\N{NO-BREAK SPACE}", html)
        html = PICTURE.sub(r'<a class="picture" href="\1">\g<0></a>', html)
    html = NAME.sub(lambda name: WORDS.sub("<wbr>", name[0]), html)
    return STACKED.sub(lambda table: f'<div class="stacked">{_labelled(table[0])}</div>', html)


def _labelled(table: str) -> str:
    """The table with the heading of its column at each cell."""
    heads = re.findall(r"<th>(.*?)</th>", table)

    def row(cells: re.Match[str]) -> str:
        labels = iter(heads)
        return re.sub("<td>", lambda _: f'<td data-label="{next(labels)}">', cells[0])

    return re.sub(r"<tr>\n<td>.*?</tr>", row, table, flags=re.DOTALL)


def _changelog() -> str:
    """The fragments of the next release, by kind, and the releases of CHANGELOG.md."""
    sections = []
    for kind in KINDS:
        texts = [path.read_text() for path in sorted((ROOT / "changelog.d").glob(f"*.{kind}.md"))]
        bullets = [f"- {indent(text.strip(), '  ').lstrip()}" for text in texts]
        sections += [f"### {kind.capitalize()}", "\n".join(bullets)] if bullets else []
    released = (ROOT / "CHANGELOG.md").read_text().partition("release notes start -->")[2]
    return "\n\n".join([*(["## Next release", *sections] if sections else []), released])
