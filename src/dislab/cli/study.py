"""`dislab study`: trains, scores and compares many runs."""

import argparse
import math
import os
import shlex
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dislab.cli.arguments import OF_TARGET, Parser, help_page
from dislab.cli.configs import find_study
from dislab.cli.messages import print_warning
from dislab.cli.tables import (
    add_table_options,
    check_table_options,
    chosen_format,
    put_bytes,
    put_table,
)
from dislab.errors import InputError, suggestion
from dislab.functional.checks import check_choice
from dislab.storage import WIDTH, atomic, check_output, duration
from dislab.study.claims import STALE
from dislab.study.comparison import flat_settings
from dislab.study.resolving import Resolver, make_schedule
from dislab.study.results import RUNS, StudyFolder
from dislab.study.schedule import (
    Schedule,
    ScheduledGroup,
    is_schedule,
    plain,
    read_schedule,
    shared_notice,
    spelt,
    study_file_of,
)
from dislab.study.search import search_lines, write_schedule
from dislab.study.sources import changed_sources
from dislab.study.status import Progress, estimate, lines, states_line, training_steps, versions_of
from dislab.study.study import STUDIES, Study, folder_of
from dislab.study.study_file import STUDY, StudyFile, read_study_file
from dislab.study.tables import PICTURES, table_bytes
from dislab.study.trials import expected
from dislab.yaml_files import PLAN, read_mapping

if TYPE_CHECKING:
    import pandas as pd

    from dislab.study.statistics.selection import Best

VERBS: Final = {
    "plan": "read a study file, check every run, and list the work to do",
    "run": "train and score every run of a study file; continue interrupted work",
    "work": "be one worker of a study's folder; any number may work at once",
    "status": "say what is done, what has failed, and how long the rest takes",
    "table": "show one row a run, or write it as CSV, Markdown, LaTeX or Parquet",
    "summary": "write all tables and pictures of the results into a folder",
}
_MORE: Final = 3
"""Number of further scores that the end of a study names."""
_EXAMPLES: Final = {
    "plan": "quick",
    "run": "quick --workers 2",
    "work": "studies/quick",
    "status": "quick",
    "table": "quick --out runs.csv",
    "summary": "quick --out summary",
}


def run(args: list[str]) -> int:
    """Make many runs from one file, resumable anywhere, and see them together.

    Raises:
        InputError: An option is invalid, or a study cannot be used.
        TrainingError: The first runs of a study have all failed in the same way.
    """
    verb, *arguments = args or ["--help"]
    if verb in ("-h", "--help"):
        text = "Make many runs from one file, and see them together."
        groups, example = {"Verbs": list(VERBS.items())}, "dislab study run quick"
        print(help_page("dislab study VERB [options]", text, groups, example), end="")
        return 0
    if verb not in VERBS:
        hint = suggestion(verb, VERBS)
        if arguments and arguments[0] in VERBS:
            swapped = ["dislab", "study", arguments[0], verb, *arguments[1:]]
            hint = f" (did you mean {shlex.join(swapped)}?)"
        raise InputError(f"dislab study has no {verb!r}{hint}; it has {', '.join(VERBS)}")
    parser = Parser(
        f"dislab study {verb}",
        description=f"{VERBS[verb][:1].upper()}{VERBS[verb][1:]}.",
        example=f"dislab study {verb} {_EXAMPLES[verb]}",
    )
    return _RUN[verb](parser, arguments)


def _plan(parser: Parser, args: list[str]) -> int:
    _add_study(parser)
    parser.add_argument(
        "--steps_per_second",
        type=float,
        metavar="RATE",
        help="estimate the hours of training from this rate of one run, measured on the machine "
        "that will train",
    )
    options = parser.parse_args(args)
    rate = options.steps_per_second
    if rate is not None and not 0 < rate < math.inf:
        raise InputError(f"--steps_per_second is {rate:g}; it must be a number greater than 0")
    folder, schedule = _scheduled(options)
    whole = expected(schedule)
    study = Study.of(folder, schedule)
    status = study.status()
    stages = f"stages {', '.join(schedule.stages)}"
    if any(run.done for run in status.runs):
        left = [f"{stage} of {runs} run{'s' * (runs != 1)}" for stage, runs in status.left.items()]
        stages += f"; left to do: {', '.join(left) or 'nothing'}"
    print(f"{schedule.name}: {len(whole.runs)} runs in {folder}, {stages}")
    for line in _axes(whole):
        print(f"  {line}")
    print(f"  seeds: {len({run.seed for run in whole.runs})}")
    for line in _of_seeds(whole):
        print(f"  {line}")
    groups = {id(run.group): run.group for run in whole.runs}.values()
    facts = [(group.axes, _facts(group)) for group in groups]
    head = "all runs" if schedule.search is None else "at the low ends of the ranges"
    told = _told(facts, schedule.axes, "", head)
    for line in [*search_lines(study), *told]:
        print(line)
    for line in estimate(whole, rate):
        print(line)
    if (folder / PLAN).is_file():
        for line in lines(study, status):
            print(line)
    if status.left:
        command = ["dislab", "study", "run", _named(options.study)]
        command += ["--folder", str(options.folder)] if options.folder else []
        print(f"next: {shlex.join(command)}")
    return 0


def _axes(schedule: Schedule) -> Iterator[str]:
    """The values of each axis; of one whose values belong to those of an earlier axis, by these."""
    from dislab.study.summary import nested

    runs = _planned(schedule)
    for number, axis in enumerate(schedule.axes):
        outer = [name for name in schedule.axes[:number] if nested(runs, axis, name)][:1]
        parts = runs.groupby(runs[outer[0]].map(str), sort=False) if outer else [("", runs)]
        for value, part in parts:
            of_value = f" of {value}" if outer else ""
            yield f"{axis}{of_value}: {', '.join(dict.fromkeys(map(spelt, part[axis])))}"


def _planned(schedule: Schedule) -> "pd.DataFrame":
    """The axes and the seed of every run."""
    import pandas as pd

    rows = [
        {**{axis: plain(value) for axis, value in run.group.axes.items()}, "seed": run.seed}
        for run in schedule.runs
    ]
    return pd.DataFrame(rows, columns=[*schedule.axes, "seed"], dtype=object)


def _of_seeds(schedule: Schedule) -> list[str]:
    """Lines on too few seeds for any supported difference; none if they are enough."""
    from dislab.study.headline import planned_support

    if schedule.search is not None:  # no trial has another one to be compared with
        return []
    return textwrap.wrap(planned_support(_planned(schedule), schedule.axes), WIDTH - 2)


def _facts(group: ScheduledGroup) -> dict[str, str]:
    """Method, data set, model, regularizers and steps of a group of runs."""
    from dislab.report.run_record import facts_of  # imports matplotlib

    facts = facts_of(group.config, {})
    facts.pop("seed", None)
    if (steps := training_steps(group.config)) is not None:
        facts["steps"] = f"{steps:,}"
    return facts


def _told(
    groups: Sequence[tuple[Mapping[str, Any], Mapping[str, str]]],
    by: Sequence[str],
    label: str,
    head: str = "",
) -> Iterator[str]:
    """Facts of groups of runs as lines of a terminal: those of all, then those that differ.

    Args:
        groups: Values of the axes, and facts that are not told yet.
        by: The axes by whose values the groups are divided further.
        label: What the groups have in common.
        head: What stands in front of the facts of all groups.
    """
    first = groups[0][1]
    shared = {n: fact for n, fact in first.items() if all(f.get(n) == fact for _, f in groups)}
    if shared:
        told = (fact if label.startswith(f"{n} ") else f"{n} {fact}" for n, fact in shared.items())
        text = f"{label or head}: {'; '.join(told)}"
        yield from textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")
    for axis in by[:1]:
        parts: dict[str, list[tuple[Mapping[str, Any], Mapping[str, str]]]] = {}
        for values, facts in groups:
            others = {name: fact for name, fact in facts.items() if name not in shared}
            parts.setdefault(spelt(values.get(axis, "")), []).append((values, others))
        for value, part in parts.items():
            longer = ", ".join(filter(None, [label, value and f"{axis} {value}"]))
            yield from _told(part, by[1:], longer)


def _run(parser: Parser, args: list[str]) -> int:
    _add_study(parser)
    parser.add_argument(
        "--launcher",
        default="processes",
        help="what starts workers: processes unless given, ray or slurm",
    )
    parser.add_argument(
        "--workers", type=_count, metavar="N", help="how many workers; as many as fit unless given"
    )
    parser.add_argument(
        "--retry_failed", action="store_true", help="try stages again that have failed"
    )
    options = parser.parse_args(args)
    from dislab.study.launchers import Workers, load_launcher

    launcher = load_launcher(options.launcher)
    folder, schedule = _scheduled(options, "this")
    schedule = _keep(options.study, folder, schedule)
    records = StudyFolder(folder)
    if options.retry_failed:
        records.forget_failures(schedule)
    study = Study.of(folder, schedule)
    ended = sum(run.state not in ("waiting", "running") for run in study.status().runs)
    remaining = len(expected(schedule).runs) - ended
    if remaining:
        for line in _of_seeds(expected(schedule)):
            print(line, file=sys.stderr)  # a launcher may print a script
        cores = os.cpu_count() or 1
        fit = None if schedule.resources.gpus else max(1, cores // schedule.resources.cpus)
        progress = Progress(study, options.workers or fit)
        work = ("study", "work", str(folder.resolve()), "--study", schedule.name)
        command = (sys.executable, "-P", "-m", "dislab", *work)
        try:
            workers = Workers(
                folder, command, options.workers, schedule.resources, remaining, progress.tick
            )
            if not launcher.launch(workers):
                return 0
        finally:
            progress.close()
    return _show_end(study.reread())


def _work(parser: Parser, args: list[str]) -> int:
    parser.add_argument("folder", type=Path, help="folder of the study, such as studies/quick")
    parser.add_argument(
        "--study",
        metavar="NAME",
        help="one of the studies that share the folder; the one that was last run unless given",
    )
    parser.add_argument(
        "--leave",
        action="store_true",
        help="end when other workers have all runs that are left, instead of waiting for them",
    )
    parser.add_argument(
        "--stale",
        type=float,
        default=STALE,
        metavar="SECONDS",
        help="take over the run of a worker on another machine that has been silent for so long "
        f"({STALE:g})",
    )
    parser.add_argument("--attached", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(args)
    if not options.stale >= 1:
        raise InputError(f"--stale is {options.stale:g}; it must be 1 second or longer")
    schedule = read_schedule(options.folder, options.study)
    # read by the OpenMP library when torch loads it
    os.environ.setdefault("OMP_NUM_THREADS", str(schedule.resources.cpus))
    if not schedule.resources.gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    for name in [variable for variable in os.environ if variable.startswith("SLURM_")]:
        del os.environ[name]  # each run is a single process, independent of the job
    from dislab.cli import study_runs
    from dislab.study.worker import Settings, Worker

    _warn_of_versions(schedule)
    study_runs.preload()
    launcher = os.getppid()
    alive = (lambda: os.getppid() == launcher) if options.attached else (lambda: True)
    status = Study.of(options.folder, schedule).status()
    if not status.left and not any(run.state == "running" for run in status.runs):
        states = states_line([run.state for run in status.runs])
        print(f"{schedule.name}: nothing left to do; {states}")
    settings = Settings(options.leave, options.stale, alive)
    Worker(StudyFolder(options.folder), schedule, study_runs.Process, settings).work()
    return 0


def _status(parser: Parser, args: list[str]) -> int:
    _add_study(parser)
    options = parser.parse_args(args)
    study = Study(options.study, options.folder)
    print(f"{study.schedule.name} in {study.path}")
    waiting = study.folder.other_settings(study.schedule)
    for line in [*lines(study), *waiting, *study.changed_sources(), *search_lines(study)]:
        print(line)
    return 0


def _table(parser: Parser, args: list[str]) -> int:
    _add_study(parser)
    add_table_options(parser)
    parser.add_argument(
        "--agreement",
        action="store_true",
        help="add UDR and the alignment of latents with other seeds, of a study with stage codes",
    )
    parser.add_argument(
        "--means",
        action="store_true",
        help="mean ± standard deviation of the main scores for each value of the first axis "
        "instead of one row a run; as LaTeX with the best in bold, where differences are supported",
    )
    parser.add_argument(
        "--by",
        nargs="+",
        default=[],
        metavar="AXIS",
        help="with --means: a row for each combination of these axes, such as method strength",
    )
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        help=f"with --means: the score of the first column, by which runs are best, {OF_TARGET}",
    )
    parser.add_argument(
        "--show",
        nargs="+",
        default=[],
        metavar="NAME",
        help="with --means: any scores in this order, such as mig dci_completeness; three "
        "main ones unless given, in CSV and Parquet all",
    )
    options = parser.parse_args(args)
    check_table_options(options)
    of_means = {"by": "rows", "target": "best runs", "show": "scores"}
    without = [name for name in of_means if getattr(options, name) and not options.means]
    from dislab.study.summary import labels

    study = Study(options.study, options.folder)
    names = labels(study.schedule.axes)
    options.by = [next((a for a in names if names[a] == axis), axis) for axis in options.by]
    for axis in options.by:
        check_choice("--by", axis, list(dict.fromkeys([*names.values(), *names])))
    for line in study.changed_sources():
        print_warning(line)
    table = study.titled(study.table())
    if options.means:
        _put_means(study, table, options)
        return 0
    if without:
        if options.target or options.show:
            _scores(study, table, options)  # names a wrong one first
        name = without[0]
        raise InputError(f"--{name} is for the {of_means[name]} of --means; give both")
    table = table.join(study.agreement()) if options.agreement else table
    put_table(table, options, study.schedule.axes)
    if options.agreement and (few := _too_few_for_udr(study)):
        print_warning(few)
    if not options.out and not options.format:
        print(f"dislab report {study.path / 'runs'}/RUN writes the page of a run")
    return 0


def _too_few_for_udr(study: Study) -> str:
    """Says that no setting has the seeds that UDR needs; empty if one has."""
    from dislab.study.statistics.agreement import LEAST_MODELS

    seeds = max(Counter(run.group.read for run in study.schedule.runs).values(), default=0)
    if seeds >= LEAST_MODELS:
        return ""
    return f"UDR needs {LEAST_MODELS} seeds of a setting, and the most is {seeds}"


def _scores(
    study: Study, table: "pd.DataFrame", options: argparse.Namespace
) -> "tuple[dict[str, Best], dict[str, Best | None], str | None]":
    """The scores of the study, those that --show names, and the first one, as --target names it."""
    from dislab.study.headline import measures_to_show, unfinished
    from dislab.study.summary import chosen_target, shown_scores

    measures, name = measures_to_show(table, study.primary_scores()), study.schedule.name
    if not measures:
        left = unfinished(table)
        raise InputError(f"{name}: no run has a score yet ({left or 'all finished'})")
    shown = shown_scores(options.show, name, table, measures)
    target = None
    if options.target or not shown:
        target = chosen_target(options.target, name, measures)
    return measures, shown, target


def _put_means(study: Study, table: "pd.DataFrame", options: argparse.Namespace) -> None:
    """Prints or writes the means of the main scores."""
    from dislab.study.headline import (
        BEST,
        headline_table,
        latex_means,
        mixture,
        named_run,
        rows_of,
        unfinished,
    )
    from dislab.study.summary import means_of

    axes, fixed = study.schedule.axes, study.schedule.fixed_axes
    measures, shown, target = _scores(study, table, options)
    left = unfinished(table)
    if mixed := mixture(table, axes, options.by):
        print_warning(mixed)
    form = chosen_format(options)
    if form and left:
        print_warning(f"{left}; means are of the finished ones")
    if form in ("csv", "parquet"):
        numbers = means_of(
            table, rows_of(table, fixed, options.by), study.score_ranges(), list(shown)
        )
        put_bytes(table_bytes(numbers.set_index(numbers.columns[0]), form), options)
        return
    means = headline_table(table, fixed, measures, target, options.by, shown)
    by = rows_of(table, fixed, options.by)
    if form is None:
        _print_means(
            study,
            table,
            means,
            {**measures, **shown},
            target or next(iter(shown)),
            by,
        )
    elif form == "latex":
        put_bytes(latex_means(means, table, by, {**measures, **shown}).encode(), options)
    else:
        others = [axis for axis in axes if axis not in by]
        if BEST in means:
            means[BEST] = [
                named_run(table, run, others) if run in table.index else run for run in means[BEST]
            ]
        put_bytes(table_bytes(means, form), options)


def _print_means(
    study: Study,
    table: "pd.DataFrame",
    means: "pd.DataFrame",
    measures: "Mapping[str, Best | None]",
    target: str,
    by: Sequence[str],
    verdict: str = "",
) -> None:
    """Prints means, what their marks mean, and the best run of each row.

    Args:
        study: The study.
        table: Its runs.
        means: Result of `headline_table`.
        measures: The results with the direction in which each improves.
        target: The one of the first column.
        by: The axes that make the rows.
        verdict: Text that is printed below.
    """
    from dislab.study.headline import BEST, best_runs, legend, spread_note, text

    scores = means.drop(columns=BEST, errors="ignore")
    marks = legend(scores, table, verdict, measures)
    notes = [part for line in (spread_note(scores), marks) for part in textwrap.wrap(line, WIDTH)]
    print("\n".join([*text(scores), *([""] if notes else []), *notes]))
    if BEST in means:
        others = [axis for axis in study.schedule.axes if axis not in by]
        folder = study.path / "runs"
        print("\n".join(["", *best_runs(means, table, others, target, folder)]))
    _print_best(study, table, measures, target)


def _print_best(
    study: Study, table: "pd.DataFrame", measures: "Mapping[str, Best | None]", target: str
) -> None:
    """Prints which run is best by a measure, and the command that writes its page."""
    from dislab.study.headline import best_run

    if best := best_run(table, study.schedule.axes, measures, target):
        run, what = best
        print(f"\nbest run of all: {what}")
        print(f"  dislab report {study.folder.run(run)}  # its page")


def _summary(parser: Parser, args: list[str]) -> int:
    _add_study(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="where the files go; unless set, summary/ in the folder of the study",
    )
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        help="the score that the verdict, the pictures and the tables of summary.md are about, "
        f"{OF_TARGET}",
    )
    parser.add_argument(
        "--pictures", choices=PICTURES, default="svg", help="format of the pictures"
    )
    options = parser.parse_args(args)
    study = Study(options.study, options.folder)
    for line in study.changed_sources():
        print_warning(line)
    from dislab.study.headline import conclusion, unfinished
    from dislab.study.statistics.agreement import LEAST_MODELS
    from dislab.study.summary_folder import PAGE, write_summary

    results = study.summary(options.target)
    out = options.out or study.path / "summary"
    before = {*out.iterdir()} if out.is_dir() else set()
    files = write_summary(results, out, options.pictures, list(_about(study)))
    removed = sorted(path.name for path in before - {*out.iterdir()})
    seeds = max(Counter(run.group.read for run in study.schedule.runs).values(), default=0)
    if "codes" not in study.schedule.stages and seeds > 1:  # which alignment compares
        without, need = "UDR and alignment", ""
        if seeds < LEAST_MODELS:
            without = "alignment"
            need = (
                f"; UDR would need {LEAST_MODELS} seeds of a setting, too, and the most is {seeds}"
            )
        print_warning(
            f"without {without}, as the study keeps no codes; add `codes: {{images: 5000}}` to its "
            f"stages and run it again{need}"
        )
    if study.schedule.search is None:  # no trial has another one to be compared with
        said = conclusion(results.runs, results.axes, results.measures, results.target)
        left = unfinished(results.runs)
        print(textwrap.fill(f"{left}. {said}" if left else said, WIDTH))
    _print_best(study, results.runs, results.measures, results.target)
    print(f"\n{out / PAGE} and {len(files) - 1} other files")
    if removed:
        named = f"{', '.join(removed[:_MORE])}{', …' * (len(removed) > _MORE)}"
        pictures = f"{len(removed)} picture{'s' * (len(removed) > 1)}"
        print(f"removed {pictures} of an earlier summary in another format: {named}")
    return 0


def _about(study: Study) -> Iterator[str]:
    """Lines with the run time of a study and the versions used."""
    status = study.status()
    took = ", ".join(
        f"{stage} {duration(seconds)}" for stage, seconds in status.seconds.items() if seconds
    )
    yield f"Time of one worker: {took or 'nothing done yet'}."
    if versions := ", ".join(versions_of(status.runs)):
        yield f"Versions: {versions}."


_RUN: Final[Mapping[str, Callable[[Parser, list[str]], int]]] = {
    "plan": _plan,
    "run": _run,
    "work": _work,
    "status": _status,
    "table": _table,
    "summary": _summary,
}


def _add_study(parser: Parser) -> None:
    parser.add_argument(
        "study", type=_path_of, help="a study file or its name, or the folder of a study"
    )
    parser.add_argument(
        "--folder", type=Path, help=f"folder of the study; {STUDIES}/NAME unless given"
    )


def _path_of(text: str) -> Path:
    try:
        return find_study(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _named(study: Path) -> str:
    """The name of a study that ships; the path of any other."""
    with suppress(InputError):
        if find_study(study.stem) == study:
            return study.stem
    return str(study)


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 10_000:
        raise argparse.ArgumentTypeError(f"{text} is no number of workers; give 1 or more")
    return int(text)


def _scheduled(
    options: argparse.Namespace, command: str = "`dislab study run`"
) -> tuple[Path, Schedule]:
    """The folder and the plan of a study, given as its study file or its folder.

    `command` is what will replace an earlier plan.
    """
    folder = folder_of(options.study, options.folder)
    if options.study.is_dir():
        schedule = read_schedule(folder)
        if notice := shared_notice(folder, schedule.name):
            print_warning(notice)
        _warn_of_results(folder, schedule)
        return folder, schedule
    file = read_study_file(options.study)
    if notice := shared_notice(folder, file.name, is_next=True):
        print_warning(notice)
    for line in _overwritten(file):
        print_warning(line)
    try:
        last = read_schedule(folder, file.name)
        runs, spaces = last.runs, last.search.spaces if last.search else ()
    except InputError:  # no readable plan: every run is checked again
        runs, spaces = (), ()
    groups = {run.group.read: run.group for run in runs}
    groups |= {space.read: space for space in spaces}
    from dislab.naming.builders import versions

    schedule = make_schedule(file, _resolver, versions(), groups.values())
    dropped = {run.id for run in runs} - {run.id for run in schedule.runs}
    if dropped:
        print_warning(
            f"{options.study} has the name {file.name} of an earlier plan in {folder} and lacks "
            f"{len(dropped)} of its {len(runs)} runs; {command} replaces that plan and "
            f"keeps the runs in {folder / RUNS}; set another `name:` to keep both plans"
        )
    _warn_of_results(folder, schedule)
    return folder, schedule


def _warn_of_results(folder: Path, schedule: Schedule) -> None:
    """Warns of results of other studies that this one will replace, and of changed plugins."""
    records = StudyFolder(folder)
    replaced = records.other_settings(schedule, is_next=True)
    for line in [*replaced, *changed_sources(records, schedule)]:
        print_warning(line)


def _overwritten(file: StudyFile) -> Iterator[str]:
    """Lines on settings of `base` that files of an axis set to other values."""
    base: dict[str, Any] = {}
    for path in file.base:
        base |= _trained(path)
    common = len(file.base)
    arguments = (setting for group in file.groups() for setting in group.arguments[common:])
    files: dict[tuple[str, ...], list[str]] = {}
    for argument in dict.fromkeys(arguments):
        option, _, value = argument.partition("=")
        settings = _trained(Path(value)) if option == "--config" else {}
        differ = [name for name in settings if name in base and base[name] != settings[name]]
        parts = tuple(f"{name}." for name in differ)
        if names := tuple(name for name in differ if not name.startswith(parts)):
            files.setdefault(names, []).append(Path(value).name)
    for names, winners in files.items():
        s = "s" * (len(winners) == 1)
        yield f"{', '.join(winners)} come{s} after base and overwrite{s} its {', '.join(names)}"


def _trained(path: Path) -> dict[str, Any]:
    """Flat settings of the model and the data in a configuration file."""
    content = read_mapping(path, "model: {class_path: VAE}")
    return flat_settings({name: content[name] for name in ("model", "data") if name in content})


def _resolver() -> Resolver:
    """The parser of configurations, which takes a while to import."""
    from dislab.cli.study_runs import resolver

    return resolver(builds=True)


def _keep(study: Path, folder: Path, schedule: Schedule) -> Schedule:
    """Writes the files that workers read; returns the schedule as it was written."""
    check_output("--folder", folder / PLAN, is_schedule)
    check_output("--folder", folder / STUDY, lambda _: is_schedule(folder / PLAN))
    try:
        (folder / "workers").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be made: {error.strerror}; choose another --folder"
        ) from error
    if not study.is_dir():
        text = study.read_bytes()
        for path in (study_file_of(folder, schedule.name), folder / STUDY):
            with atomic(path) as temporary:
                temporary.write_bytes(text)
    return write_schedule(StudyFolder(folder), schedule)


def _show_end(study: Study) -> int:
    """Prints the results of a study; returns exit status 1 if a run has failed."""
    status = study.status()
    print()
    for line in [*lines(study, status), *search_lines(study)]:
        print(line)
    took = sum(status.seconds.values())
    print(f"work done: {duration(took)} of one worker")
    if "finished" in status.counts():
        _print_results(study)
    return int("failed" in status.counts())


def _print_results(study: Study) -> None:
    """Prints the means of the main scores, the verdict, and the commands for more."""
    from dislab.study.headline import conclusion, headline_table, measures_to_show, rows_of
    from dislab.study.summary import chosen_target, headline_measures, is_bound, measures_of

    table, axes = study.titled(study.table()), study.schedule.axes
    more = []
    measures = measures_to_show(table, study.primary_scores())
    if measures and study.schedule.search is None:  # no trial has another one to be compared with
        target = chosen_target(None, study.schedule.name, measures)
        means = headline_table(table, axes, measures, target)
        shown = headline_measures(measures, target)
        more = [name for name in measures if not (name in shown or is_bound(name))]
        print()
        verdict = conclusion(table, axes, measures, target)
        _print_means(study, table, means, measures, target, rows_of(table, axes), verdict)
        print(f"\n{textwrap.fill(verdict, WIDTH)}")
    print("\nNext:")
    if more:
        names = " ".join(name.removeprefix("score.") for name in more[:_MORE])
        print(f"  dislab study table {study.path} --means --show {names}  # other scores")
    if measures_of(table, study.primary_scores()):  # else there is nothing to compare
        print(f"  dislab study summary {study.path}  # tables and pictures")
    print(f"  dislab report {study.path}  # one interactive page")
    print(f"  dislab study table {study.path} --out table.csv  # all numbers")


def _warn_of_versions(schedule: Schedule) -> None:
    """Warns if this worker's version of dislab differs from that of the plan."""
    from dislab.naming.builders import versions

    here = versions()
    differ = [
        f"{name} {here.get(name)} instead of {there}"
        for name, there in schedule.versions.items()
        if here.get(name) != there
    ]
    if differ:
        print_warning(
            f"this worker is of other versions than the study's plan: {', '.join(differ)}; tables "
            "will say that they are a mixture"
        )
