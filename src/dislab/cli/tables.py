"""Tables of many runs: their options and output, and `dislab compare`."""

import argparse
import os
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dislab.cli.arguments import Existing, Parser, runs_of
from dislab.cli.configs import no_run_or_study, path_or_study
from dislab.cli.messages import print_warning
from dislab.errors import InputError
from dislab.storage import WIDTH, atomic, check_output
from dislab.study.tables import (
    FORMATS,
    MARKS,
    SUFFIXES,
    TableFormat,
    format_of,
    is_table,
    table_bytes,
)

if TYPE_CHECKING:
    import pandas as pd

_LONG: Final = 32
"""Letters of the path of a run above which a table has numbers instead, explained below it."""


def add_table_options(parser: Parser) -> None:
    """Adds the options for the file and the format of a table."""
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table there")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help=f"of the table; goes by the file's suffix ({', '.join(SUFFIXES)}); csv and parquet "
        "have all columns, the others what differs and three main scores",
    )


def check_table_options(options: argparse.Namespace) -> None:
    """Rejects unwritable files and unknown formats before the table is computed."""
    if options.out:
        if not options.format:
            format_of(options.out)
        check_output("--out", options.out, is_table)
    elif options.format == "parquet":
        raise InputError("--format parquet needs --out FILE, as Parquet is no text")


def put_table(
    table: "pd.DataFrame",
    options: argparse.Namespace,
    axes: Sequence[str] = (),
    scored: Sequence[str] = (),
) -> None:
    """Writes a table into its file, or prints it: in brief unless it is CSV or Parquet.

    Args:
        table: One row a run.
        options: Those of `add_table_options`.
        axes: The columns that are axes of a study.
        scored: Which images each run is scored on, if this is known.
    """
    from dislab.report.run_record import caution
    from dislab.study.headline import (
        data_differ,
        narrow_table,
        others_differ,
        text,
        without_latents,
    )
    from dislab.study.statistics._frames import setting_columns
    from dislab.study.summary import measures_of

    form = chosen_format(options)
    reason = caution(scored, data_differ(table))
    if form and reason:
        print_warning(reason)
    if form in ("csv", "parquet"):
        put_bytes(table_bytes(table, form), options)
        return
    settings, measures = setting_columns(table), measures_of(table)
    brief, others = narrow_table(table, settings, measures, axes, is_wide=form is not None)
    if form:
        put_bytes(table_bytes(brief, form), options)
        if others:
            print(f"{others_differ(others, table)}; --format csv has all", file=sys.stderr)
    else:
        if reason:
            _print_note(f"{reason}:")
        print("\n".join(text(brief)))
        scores = [str(name) for name in table if str(name).startswith("score.")]
        if few := without_latents(table, scores):
            print()
            _print_note(few)
        legend = ""
        if len(table) > 1 and not data_differ(table):
            legend += "single runs: another seed may change their order; "
        print(f"\n{legend}all {table.shape[1]} columns: --format csv, or --out FILE.csv")
        if others:
            _print_note(others_differ(others, table))


def _print_note(note: str) -> None:
    """Prints a sentence on a table in lines that fit a terminal."""
    print(textwrap.fill(note, WIDTH, break_on_hyphens=False, break_long_words=False))


def chosen_format(options: argparse.Namespace) -> TableFormat | None:
    """The format of a table: the chosen one, or that of the file; None for lines of a terminal."""
    if options.format or not options.out:
        form: TableFormat | None = options.format
        return form
    return format_of(options.out)


def put_bytes(content: bytes, options: argparse.Namespace) -> None:
    """Writes the bytes of a table into a file, whose path is printed, or prints them."""
    if options.out is None:
        sys.stdout.write(content.decode())
        return
    mark = MARKS.get(chosen_format(options) or "")
    with atomic(options.out) as temporary:
        temporary.write_bytes(f"{mark}\n".encode() + content if mark else content)
    print(options.out)


def compare(args: list[str]) -> int:
    """Show runs side by side, one row a run."""
    parser = Parser(
        "dislab compare",
        description="Show runs side by side, one row a run.",
        example="dislab compare runs/betavae/version_0 runs/factorvae/version_0 --out runs.csv",
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN|STUDY",
        type=path_or_study,
        action=Existing,
        refusal=no_run_or_study,
        help="runs, or folders of runs; folders, files or names of studies that have run",
    )
    add_table_options(parser)
    options = parser.parse_args(args)
    check_table_options(options)
    from dislab.study import comparison

    runs = runs_of(options.runs)
    axes, scored = comparison.axes_of(runs), comparison.scored_images(runs)
    table = comparison.compare(runs)
    table = axes.join(table.drop(columns=axes.columns, errors="ignore"))
    if options.out or options.format:
        put_table(table, options, list(map(str, axes)), scored)
        return 0
    above, names = _shortened(list(map(str, table.index)))
    numbered = {}
    if max(map(len, names)) > _LONG:  # a table of such names would be too wide
        numbered = {str(number): name for number, name in enumerate(names, start=1)}
        names = list(numbered)
    table = table.rename(index=dict(zip(table.index, names, strict=True)))
    put_table(table, options, list(map(str, axes)), scored)
    if above:
        print(f"runs in {above}")
    for name, path in numbered.items():
        print(f"{name}: {path}")
    for name, folder in zip(names, runs, strict=True):
        for sentence in comparison.published_values(folder):
            _print_note(f"{name}: {sentence}")
    return 0


def _shortened(paths: list[str]) -> tuple[str, list[str]]:
    """The folder that all paths have in common, and the paths below it."""
    try:
        above = os.path.commonpath([os.path.dirname(path) for path in paths])
    except ValueError:  # absolute and relative paths, or two drives
        return "", paths
    return (above, [os.path.relpath(path, above) for path in paths]) if above else ("", paths)
