"""Writes a folder with all tables and pictures of a study."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from dislab.plots import save
from dislab.storage import markdown_text, new_folder
from dislab.study.pictures import pictures
from dislab.study.statistics import markdown
from dislab.study.summary import StudySummary, label
from dislab.study.tables import PictureFormat, is_table, write_table

PAGE: Final = "summary.md"
_RUNS: Final = "runs.csv"
_TITLE: Final = ": tables and pictures"
_SNIPPET: Final = "<!-- --8<-- [start:"


def write_summary(
    summary: StudySummary, folder: Path, form: PictureFormat = "svg", about: Sequence[str] = ()
) -> list[Path]:
    """Writes all tables and pictures of a study into a folder, and returns the files.

    Each table becomes a CSV file with full precision, and `runs.csv` has one row per run.
    `summary.md` shows the pictures and the most important part of each table; a page can include
    one part by `--8<-- "summary.md:NAME"` (pymdownx.snippets), where NAME is that of the CSV file.
    Equal runs give equal bytes. The files reach the folder when all of them are written; they
    replace those of an earlier summary there, and no others.

    Args:
        summary: Result of `summarize`.
        folder: The folder; created if missing.
        form: Format of the pictures, or `none` for no pictures.
        about: Lines about the origin of the numbers.

    Raises:
        InputError: A file cannot be written, or would replace a file of the user.
    """
    captions = []
    with new_folder("--out", folder, _is_of_summary) as temporary:
        write_table(summary.runs, temporary / _RUNS)
        for name, table in summary.tables.items():
            write_table(table.table.set_index(table.table.columns[0]), temporary / f"{name}.csv")
        for picture in pictures(summary) if form != "none" else ():
            save(picture.figure, temporary / f"{picture.name}.{form}")
            captions.append((picture.name, picture.caption))
        text = page(summary, captions, form, about)
        (temporary / PAGE).write_text(text, encoding="utf-8")
    tables = [f"{name}.csv" for name in summary.tables]
    files = [f"{name}.{form}" for name, _ in captions]
    return [folder / name for name in (_RUNS, *tables, *files, PAGE)]


def _is_of_summary(path: Path) -> bool:
    """Whether a file belongs to the summary in its folder."""
    if path.name == _RUNS:
        return is_table(path)
    text = (path.parent / PAGE).read_text(encoding="utf-8")
    is_summary = text.partition("\n")[0].endswith(_TITLE) and _SNIPPET in text
    return is_summary and (path.name == PAGE or f"]({path.name})" in text)


def page(
    summary: StudySummary,
    captions: Iterable[tuple[str, str]],
    form: PictureFormat,
    about: Sequence[str],
) -> str:
    """The tables and pictures of a study in Markdown.

    Args:
        summary: Result of `summarize`.
        captions: Names and captions of the pictures in the folder of the page.
        form: Format of the pictures.
        about: Lines about the origin of the numbers.
    """
    states = summary.runs["state"].value_counts(sort=False)
    counts = ", ".join(f"{count} {state}" for state, count in states.items())
    parts = [
        f"# {markdown_text(summary.name)}{_TITLE}",
        "\n".join([f"{len(summary.runs)} runs ({counts}).", *map(markdown_text, about)]),
    ]
    for name, table in summary.tables.items():
        text = "\n".join(markdown(excerpt) for excerpt in table.excerpts)
        parts += [
            f"## {markdown_text(table.title)}",
            f"{markdown_text(table.note)} All numbers: [{name}.csv]({name}.csv).",
            f"{_SNIPPET}{name}] -->\n{text}<!-- --8<-- [end:{name}] -->",
        ]
    if summary.absent:
        parts.append("## Tables left out")
        parts.append(
            "\n".join(f"* {name}: {markdown_text(why)}" for name, why in summary.absent.items())
        )
    if shown_pictures := [
        f"![{caption}]({name}.{form})\n\n*{caption}*"
        for name, caption in ((name, markdown_text(text)) for name, text in captions)
    ]:
        parts += ["## Pictures", *shown_pictures]
    ends = ", ".join(
        f"{markdown_text(label(name))} ({end})" for name, end in summary.measures.items()
    )
    parts.append(f"Scores of these tables, each with its good end: {ends}.")
    return "\n\n".join(parts) + "\n"
