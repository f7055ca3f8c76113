"""`dislab cite`: BibTeX of what runs or a study use."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dislab.cli.arguments import Parser


def run(args: list[str]) -> int:
    """Prints BibTeX entries and returns the exit status."""
    parser = Parser(
        "dislab cite",
        description="Print BibTeX of dislab and of the papers behind the methods, data sets and "
        "scores of runs or of a study.",
    )
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="RUN|STUDY",
        help="run folders; folders or files of studies that have run",
    )
    options = parser.parse_args(args)
    from dislab import plugins
    from dislab.report.citations import citations

    plugins.load_all(plugins.PARTS)
    entries = {
        url: entry
        for path in options.paths
        for settings in _settings(Path(path))
        for url, entry in citations(settings).items()
    }
    print("\n\n".join(entries.values()))
    return 0


def _settings(path: Path) -> Iterator[Mapping[str, Any]]:
    """The configuration of a run, or those of the groups of a study."""
    from dislab.cli.report import is_study
    from dislab.runs.opened import run_config
    from dislab.study import Study

    if not is_study(path):
        yield run_config(path)
        return
    for group in {id(run.group): run.group for run in Study(path).schedule.runs}.values():
        yield group.config
