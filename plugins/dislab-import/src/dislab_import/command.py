"""The command `dislab import`."""

from pathlib import Path

from dislab.cli.arguments import Parser
from dislab.cli.tables import add_table_options, check_table_options, put_table
from dislab.errors import InputError


def run(args: list[str]) -> int:
    """Read results of disentanglement_lib into a table of runs.

    Raises:
        InputError: There are no results, or the table cannot be written.
    """
    parser = Parser(
        "dislab import",
        description="Read results of disentanglement_lib into a table, one row a model, with the "
        "names of dislab's scores.",
        example="dislab import results --out runs.csv",
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
    from dislab_import.disentanglement_lib import read_disentanglement_lib

    put_table(read_disentanglement_lib(options.path), options)
    return 0
