"""`dislab report`: the page of one or several runs."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dislab.cli.arguments import Parser
from dislab.errors import InputError

if TYPE_CHECKING:
    from dislab.report import ReportedRun

_DESCRIPTION = """\
Write one HTML file that shows finished runs: scores and what each cannot see, curves, pictures,
settings, and a latent explorer in which the decoder itself runs. The file opens from disk, makes no
request, and has the same bytes whenever it is written from the same folders."""


def run(args: list[str]) -> int:
    """Writes a page and returns the exit status.

    Args:
        args: The arguments after the command.

    Raises:
        InputError: A folder is no run, or the page cannot be written.
    """
    options = _parser().parse_args(args)
    folders = [Path(one) for one in dict.fromkeys(options.runs)]
    from dislab import plugins
    from dislab.cli.run_data import run_config
    from dislab.report import PAGE, write_page
    from dislab.runs import CONFIG, SCORES
    from dislab.storage import check_output

    if options.out is None and len(folders) > 1:
        raise InputError(f"{len(folders)} runs make one page; name its file by --out")
    page = folders[0] / PAGE if options.out is None else Path(options.out)
    for folder in folders:
        run_config(folder)
    check_output("--out", page, [folder / one for folder in folders for one in (CONFIG, SCORES)])
    plugins.load_all(plugins.PARTS)
    write_page([_reported(folder) for folder in folders], page)
    print(page)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser("dislab report", description=_DESCRIPTION)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folders of finished runs")
    parser.add_argument(
        "--out", metavar="FILE.html", help="the page; report.html in the folder of a single run"
    )
    return parser


def _reported(folder: Path) -> "ReportedRun":
    """A run with its model and data; the page explains a missing one."""
    from dislab.cli.run_data import run_config, run_data
    from dislab.report import ReportedRun
    from dislab.runs import load_run

    try:
        module = load_run(folder)
        data = run_data(folder, run_config(folder))
        data.prepare_data()
        data.setup("test")
    except InputError as error:
        print(f"dislab: warning: {folder.name} gets no explorer: {error}", file=sys.stderr)
        return ReportedRun(folder, None, None)
    return ReportedRun(folder, module, data)
