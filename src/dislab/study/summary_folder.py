"""Writes a folder with all tables and pictures of a study."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from dislab.plots import save
from dislab.storage import atomic
from dislab.study.pictures import pictures
from dislab.study.statistics import markdown
from dislab.study.summary import StudySummary, label
from dislab.study.tables import PictureFormat, write_table

PAGE: Final = "summary.md"


def write_summary(
    summary: StudySummary, folder: Path, form: PictureFormat = "svg", about: Sequence[str] = ()
) -> list[Path]:
    """Writes all tables and pictures of a study into a folder, and returns the files.

    Each table becomes a CSV file with full precision, and `runs.csv` has one row per run.
    `summary.md` shows the pictures and the most important part of each table; a page can include
    one part by `--8<-- "summary.md:NAME"` (pymdownx.snippets), where NAME is that of the CSV file.
    Equal runs give equal bytes. Existing files of these names are replaced, each atomically.

    Args:
        summary: Result of `summarize`.
        folder: The folder; created if missing.
        form: Format of the pictures, or `none` for no pictures.
        about: Lines about the origin of the numbers.

    Raises:
        InputError: A file cannot be written.
    """
    files = [folder / "runs.csv"]
    write_table(summary.runs, files[0])
    for name, one in summary.tables.items():
        files.append(folder / f"{name}.csv")
        write_table(one.table.set_index(one.table.columns[0]), files[-1])
    drawn = []
    for picture in pictures(summary) if form != "none" else ():
        files.append(folder / f"{picture.name}.{form}")
        save(picture.figure, files[-1])
        drawn.append((picture.name, picture.caption))
    files.append(folder / PAGE)
    with atomic(files[-1]) as temporary:
        temporary.write_text(page(summary, drawn, form, about), encoding="utf-8")
    return files


def page(
    summary: StudySummary,
    drawn: Iterable[tuple[str, str]],
    form: PictureFormat,
    about: Sequence[str],
) -> str:
    """The tables and pictures of a study in Markdown.

    Args:
        summary: Result of `summarize`.
        drawn: Names and captions of the pictures in the folder of the page.
        form: Format of the pictures.
        about: Lines about the origin of the numbers.
    """
    states = summary.runs["state"].value_counts(sort=False)
    counts = ", ".join(f"{count} {state}" for state, count in states.items())
    parts = [
        f"# {summary.name}: tables and pictures",
        "\n".join([f"{len(summary.runs)} runs ({counts}).", *about]),
    ]
    for name, one in summary.tables.items():
        shown = "\n".join(markdown(table) for table in one.shown)
        parts += [
            f"## {one.title}",
            f"{one.note} All numbers: [{name}.csv]({name}.csv).",
            f"<!-- --8<-- [start:{name}] -->\n{shown}<!-- --8<-- [end:{name}] -->",
        ]
    if summary.absent:
        parts.append("## Tables left out")
        parts.append("\n".join(f"* {name}: {why}" for name, why in summary.absent.items()))
    if shown_pictures := [f"![{caption}]({name}.{form})\n\n*{caption}*" for name, caption in drawn]:
        parts += ["## Pictures", *shown_pictures]
    ends = ", ".join(f"{label(one)} ({end})" for one, end in summary.measures.items())
    parts.append(f"Scores of these tables, each with its good end: {ends}.")
    return "\n\n".join(parts) + "\n"
