"""`dislab compare`: a table of run folders that belong to no study."""

from dislab.cli.arguments import Parser
from dislab.cli.study_tables import add_table_options, check_table_options, put_table


def run(args: list[str]) -> int:
    """Prints or writes a table of run folders, and returns the exit status."""
    parser = Parser("dislab compare", description="Show runs side by side, one row a run.")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders")
    add_table_options(parser)
    options = parser.parse_args(args)
    check_table_options(options)
    from dislab.study.comparison import compare

    put_table(compare(options.runs), options)
    return 0
