"""Tables of many runs: their options and output, `dislab compare` and `dislab import`."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dislab.cli.arguments import Parser
from dislab.cli.messages import own_warnings_in_one_line
from dislab.errors import InputError
from dislab.storage import check_output
from dislab.study.tables import (
    FORMATS,
    SUFFIXES,
    format_of,
    is_table,
    table_bytes,
    write_table,
)

if TYPE_CHECKING:
    import pandas as pd

_SHOWN: Final = 8
"""Maximum number of scores in the printed rank correlations; a study may have hundreds."""


def add_table_options(parser: Parser) -> None:
    """Adds the options for the file and the format of a table."""
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table there")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help=f"of the table; goes by the file's suffix ({', '.join(SUFFIXES)}), csv on a terminal",
    )


def check_table_options(options: argparse.Namespace) -> None:
    """Rejects unwritable files and unknown formats before the table is computed."""
    if options.out:
        if not options.format:
            format_of(options.out)
        check_output("--out", options.out, is_table)
    elif options.format == "parquet":
        raise InputError("--format parquet needs --out FILE, as Parquet is no text")


def put_table(table: "pd.DataFrame", options: argparse.Namespace) -> None:
    """Writes a table into its file, or prints it."""
    if options.out:
        write_table(table, options.out, options.format)
        print(options.out)
    else:
        sys.stdout.write(table_bytes(table, options.format or "csv").decode())


def print_results(table: "pd.DataFrame") -> None:
    """Prints means over seeds and rank correlations."""
    from dislab.study.statistics import (
        correlation_table,
        markdown,
        rank_correlations,
        summary,
        summary_table,
    )
    from dislab.study.statistics._frames import is_chance

    results = [
        column
        for column in map(str, table)
        if column.startswith("score.") and not is_chance(column)
    ]
    of_test = [name for name in results if not name.endswith(("_train", "_validation"))]
    columns = [name for name in of_test if table[name].nunique() > 1][:_SHOWN]
    if not columns:
        return
    print("\nmean ± standard deviation over seeds [95 % interval]\n")
    print(markdown(summary_table(summary(table, columns))), end="")
    if len(columns) > 1 and len(table) > 2:
        print(f"\nrank correlations (Spearman) over {len(table)} runs\n")
        correlations = rank_correlations(table, columns, by=[])
        print(markdown(correlation_table(correlations).rename_axis("score")), end="")


def compare(args: list[str]) -> int:
    """Prints or writes a table of run folders, and returns the exit status."""
    parser = Parser("dislab compare", description="Show runs side by side, one row a run.")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders")
    add_table_options(parser)
    options = parser.parse_args(args)
    check_table_options(options)
    from dislab.study import comparison

    put_table(comparison.compare(options.runs), options)
    return 0


def import_results(args: list[str]) -> int:
    """Prints or writes a table of imported results, and returns the exit status.

    Raises:
        InputError: There are no results, or the table cannot be written.
    """
    parser = Parser(
        "dislab import",
        description="Read results of disentanglement_lib into a table, one row a model, with the "
        "names of dislab's scores.",
    )
    parser.add_argument(
        "path",
        type=Path,
        metavar="PATH",
        help="the file that dlib_aggregate_results wrote, one evaluation.json, or a folder with "
        "results/aggregate/evaluation.json below it",
    )
    add_table_options(parser)
    options = parser.parse_args(args)
    check_table_options(options)
    if not options.path.exists():
        raise InputError(f"{options.path} does not exist; check the path")
    from dislab.study import read_disentanglement_lib

    with own_warnings_in_one_line():
        put_table(read_disentanglement_lib(options.path), options)
    return 0
