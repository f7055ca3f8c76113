"""`dislab report` and `cite`: the page of runs or of a study, and BibTeX of what they use."""

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dislab.cli.arguments import (
    OF_TARGET,
    Existing,
    Parser,
    add_checkpoint,
    chosen,
    is_study,
    runs_of,
)
from dislab.cli.configs import no_run_or_study, path_or_study
from dislab.cli.messages import print_warning
from dislab.errors import InputError

if TYPE_CHECKING:
    from dislab.report import ReportedRun

_DESCRIPTION = """\
Write one HTML file that shows finished runs: scores and what each cannot see, curves, pictures,
settings, and a latent explorer in which the decoder itself runs. Of a study it shows every run, its
tables and pictures, and the best, the median and the worst model. The file opens from disk, makes
no request, and has the same bytes whenever it is written from the same folders."""


def run(args: list[str]) -> int:
    """Write an interactive page of finished runs, or of a study."""
    options = _parser().parse_args(args)
    folders = [Path(path) for path in dict.fromkeys(options.paths)]
    studies = [path for path in folders if is_study(path)]
    if studies and len(folders) > 1:
        raise InputError(f"{studies[0]} is a study, which has a page of its own; give it alone")
    out = None if options.out is None else Path(options.out)
    if studies:
        if options.explorer_only:
            raise InputError("--explorer_only belongs to the page of runs, not to that of a study")
        if options.checkpoint:
            raise InputError("--checkpoint belongs to the page of runs, not to that of a study")
        return _study(studies[0], options.folder, out, options.target)
    for option in ("target", "folder"):
        if getattr(options, option) is not None:
            raise InputError(f"--{option} belongs to the page of a study, not to that of runs")
    return _runs(runs_of(folders), out, options.explorer_only, options.checkpoint)


def _runs(
    folders: list[Path], out: Path | None, explorer_only: bool, checkpoint: str | None
) -> int:
    from dislab import plugins
    from dislab.report import EXPLORER, PAGE, write_page
    from dislab.report.document import is_page
    from dislab.runs.opened import run_config
    from dislab.storage import check_output

    if out is None and len(folders) > 1:
        raise InputError(f"{len(folders)} runs make one page; name its file by --out")
    page = folders[0] / (EXPLORER if explorer_only else PAGE) if out is None else out
    for folder in folders:
        run_config(folder)
    check_output("--out", page, is_page if out else None, [".html"])
    plugins.load_all(plugins.PARTS)
    write_page(
        [_reported(folder, checkpoint) for folder in folders], page, explorer_only=explorer_only
    )
    print(page)
    return 0


def _study(path: Path, folder: str | None, out: Path | None, target: str | None) -> int:
    from dislab import plugins
    from dislab.report import PAGE
    from dislab.report.document import is_page
    from dislab.storage import check_output
    from dislab.study import Study
    from dislab.study.page import write_study_page

    study = Study(path, folder)
    for line in study.changed_sources():
        print_warning(line)
    page = study.path / PAGE if out is None else out
    check_output("--out", page, is_page if out else None, [".html"])
    plugins.load_all(plugins.PARTS)
    runs = len(study.schedule.runs)
    print(f"drawing the page of {runs} run{'s' * (runs != 1)}", file=sys.stderr, flush=True)
    write_study_page(study, page, target, _reported)
    print(page)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "dislab report", description=_DESCRIPTION, example="dislab report runs/factorvae/version_0"
    )
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="RUN|STUDY",
        type=path_or_study,
        action=Existing,
        refusal=no_run_or_study,
        help="finished runs, or folders of them; or one study: its file, name or folder",
    )
    add_checkpoint(parser)
    parser.add_argument(
        "--out",
        metavar="FILE.html",
        help="the page; report.html in the folder of a single run or of the study",
    )
    parser.add_argument(
        "--explorer_only",
        action="store_true",
        help="write the latent explorer of runs and nothing else, small enough to embed in a page "
        "of your own; explorer.html in the run folder unless --out says otherwise",
    )
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        help="the score that verdict, best, median and worst run, tables and pictures of a study "
        f"are about, {OF_TARGET}",
    )
    parser.add_argument("--folder", help="of the study; studies/NAME unless given")
    return parser


def _reported(folder: Path, checkpoint: str | None = None) -> "ReportedRun":
    """A run with its model and data; if one is missing, the page gives the reason."""
    from dislab.cli.messages import explain_data
    from dislab.report import ReportedRun
    from dislab.runs import load_run
    from dislab.runs.opened import run_config, run_data

    source = chosen(folder, checkpoint) if checkpoint else None
    try:
        module = load_run(source or chosen(folder, None))
        data = run_data(folder, run_config(folder), explain_data)
        data.prepare_data()
        data.setup("test")
    except InputError as error:
        print_warning(f"{folder.name} gets no explorer: {error}")
        return ReportedRun(folder, None, None)
    return ReportedRun(folder, module, data)


def cite(args: list[str]) -> int:
    """Print BibTeX of the methods, data sets and scores of runs or of a study."""
    parser = Parser(
        "dislab cite",
        description="Print BibTeX of dislab and of the papers behind the methods, data sets and "
        "scores of runs or of a study.",
        example="dislab cite runs/factorvae/version_0",
    )
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="RUN|STUDY",
        type=path_or_study,
        action=Existing,
        refusal=no_run_or_study,
        help="runs, or folders of runs; folders, files or names of studies that have run",
    )
    options = parser.parse_args(args)
    from dislab import plugins
    from dislab.report.citations import citations, sources, uses

    plugins.load_all(plugins.PARTS)
    entries: dict[str, str] = {}
    parts: dict[str, dict[str, None]] = {}
    for settings in itertools.chain.from_iterable(map(_configurations, map(Path, options.paths))):
        entries |= citations(settings)
        for url, names in uses(settings).items():
            parts.setdefault(url, {}).update(dict.fromkeys(names))
    for url, entry, part in sources(_of_tables(filter(is_study, map(Path, options.paths)))):
        entries.setdefault(url, entry)
        parts.setdefault(url, {})[part] = None
    print("\n\n".join(f"% {', '.join(parts[url])}\n{entry}" for url, entry in entries.items()))
    return 0


def _of_tables(studies: Iterable[Path]) -> Iterator[tuple[str, str, str]]:
    """What tables of studies have beside the scores of runs: kind, name, text with the source."""
    from dislab.study import Study
    from dislab.study.stages.codes import WORD
    from dislab.study.statistics import udr
    from dislab.study.statistics.agreement import LEAST_MODELS

    for study in map(Study, studies):
        if WORD not in study.schedule.stages:
            continue
        seeds = Counter(run.group.read for run in study.schedule.runs)
        if max(seeds.values()) >= LEAST_MODELS:
            yield "score", "UDR", str(udr.__doc__)
        yield "score", "MIG and SAP of 100 labels", str(study.few_labels.__doc__)


def _configurations(path: Path) -> Iterator[Mapping[str, Any]]:
    """The configuration of a run, or those of the groups of a study."""
    from dislab.runs.opened import run_config
    from dislab.study import Study

    if not is_study(path):
        yield from map(run_config, runs_of([path]))
        return
    for group in {id(run.group): run.group for run in Study(path).schedule.runs}.values():
        yield group.config
