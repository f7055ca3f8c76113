"""Study page: one HTML file with the study's runs, tables, pictures and three of its models."""

import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple, cast
from urllib.parse import quote

import numpy as np
import pandas as pd

from dislab.errors import InputError
from dislab.metrics.score_table import abbreviations
from dislab.report import PAGE, ReportedRun
from dislab.report.document import EXPLORER_SCRIPTS, document, title_of, write_document
from dislab.report.explorer import explorer_of
from dislab.report.figures import drawing
from dislab.report.run_record import (
    PagePicture,
    Table,
    blind_spots,
    facts_of,
    scored_record,
)
from dislab.report.verdict import LatentInformation, information_in, unearned_in
from dislab.runs import CONFIG, SCORES, read_scores
from dislab.runs.published import is_published, published, without_paths
from dislab.storage import duration
from dislab.study.comparison import flat_settings
from dislab.study.headline import (
    conclusion,
    headline_table,
    legend,
    named_run,
    run_values,
)
from dislab.study.schedule import read_schedule, study_file_of
from dislab.study.statistics._frames import AGREEMENT
from dislab.study.statistics.text import texts
from dislab.study.status import RunStatus, mixed_versions, versions_of
from dislab.study.study import Study, StudyWarning, warn_of_replaced
from dislab.study.study_file import STUDY
from dislab.study.summary import (
    LEAST_P,
    LEVEL,
    NEED,
    P_HOLM,
    NamedTable,
    NothingToCompareError,
    P,
    StudySummary,
    headline_measures,
    label,
    labels,
    nested,
    setting_text,
    slugs,
)
from dislab.study.summary_folder import pictures
from dislab.yaml_files import parse_mapping, yaml_text

Load = Callable[[Path], ReportedRun]
"""Loads the model and the data of a run folder."""

_MOST_ROWS: Final = 400
"""Maximum number of rows of a table on the page; `study summary` writes all."""
_MOST_PICTURES: Final = 3
"""Maximum number of violin plots and of scatter plots; `study summary` draws one per score."""
_OF_MEANS: Final = ("violins_", "settings")
"""Pictures shown with the means; others are shown with the rank correlations."""
_DIGITS: Final = 6
"""Significant digits in the table of runs; `study table` writes all digits."""
_FEW_ROWS: Final = 12
"""Number of rows above which a table of means is collapsed initially."""
_MOST_COLUMNS: Final = 8
"""Number of columns above which a table is collapsed initially."""
_MANY_COLUMNS: Final = 10
"""Number of columns from which a matrix has two digits, to fit a phone."""
_MOST_SHOWN: Final = 4
"""Number of scores shown initially as columns of the table of runs."""
_MOST_VALUES: Final = 8
"""Number of values of an axis above which the first sentence does not list them."""
_NOT_SHOWN: Final = ("seed_everything", "name", "report")
"""Settings left out of comparisons: equal by design, or with a column of their own."""
_OF_SCORES: Final = ("score", "left", "right", "target", "selector")
"""Columns of complete tables that hold names of scores."""
_HEADS: Final = {
    "p": P,
    "p_holm": P_HOLM,
    "rho": "ρ",
    "least_p": LEAST_P,
    "seeds_needed": NEED,
}
_PLAIN: Final = str.maketrans("", "", "`*")
"""Removes Markdown markup from a sentence."""
_PAGE: Final = "page of the run"
_TO_DO: Final = ("waiting", "running")
_STATES: Final = ("finished", "diverged", "failed", "waiting")


class _Model(NamedTuple):
    """A run with an explorer on the page."""

    rank: str
    described: str
    explorer: dict[str, Any] | None
    reason: str


class _Section(NamedTuple):
    """Pictures and tables under one heading."""

    anchor: str
    title: str
    text: str
    pictures: list[PagePicture]
    tables: dict[str, Table]
    folded: list[str]
    """Captions of tables that are collapsed initially."""
    details: str = ""
    """What the columns mean, in a fold, unless an earlier section says the same."""


def write_study_page(
    study: Study, path: Path, target: str | None = None, load: Load | None = None
) -> None:
    """Writes the page of a finished or unfinished study; the file is replaced atomically.

    Links to runs are relative to `path`. `target` is the score, such as `score.mig`, that selects
    the best, median and worst run and is shown in pictures and tables; None uses the choice of
    `summarize`. `load` loads the models of these runs; without it the page has no explorers.

    Raises:
        InputError: The study has no such score, the file cannot be written, or it has explorers of
            models that were not found now.

    Warns:
        StudyWarning: The file was the page of another study.
    """
    runs: list[ReportedRun] = []

    def loaded(folder: Path) -> ReportedRun:
        runs.append(cast("Load", load)(folder))
        return runs[-1]

    text = study_page_of(study, path.parent, target, loaded if load else None)
    before = title_of(path.read_text("utf-8", "replace")) if path.is_file() else ""
    warn_of_replaced(path, before, title_of(text))
    write_document(text, path, all(run.is_whole for run in runs))


def study_page_of(
    study: Study, folder: Path, target: str | None = None, load: Load | None = None
) -> str:
    """The HTML text of the page of a study; see `write_study_page`.

    It depends only on the content of the study's folder, on the models and their data, and on the
    relative path to the runs from `folder`, which will contain the page: not on the clock or the
    workers' progress.

    Raises:
        InputError: The study has no such score.
    """
    runs = study.status().runs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StudyWarning)  # which the page shows as a note
        summary, reason = _summary(study, target)
        table = study.titled(study.table()) if summary is None else summary.runs
    shared, settings = _settings(runs)
    indices = {group: index for index, group in enumerate(settings)}
    models = [] if summary is None or load is None else list(_models(study, summary, load))
    said = "" if summary is None or study.schedule.search else _verdict(summary)
    content = without_paths(
        {
            "title": study.schedule.name,
            "summary": _described(study, table, shared, _data(study, runs)),
            "headline": _headline(table),
            "verdict": said,
            **_means(summary, study.schedule.fixed_axes, _pages(study, folder), said),
            "notes": [
                f"{note[0].upper()}{note[1:]}." for note in (mixed_versions(runs), reason) if note
            ],
            "continues": bool(reason) and any(run.state in _TO_DO for run in runs),
            "no_models": _no_models(reason, load),
            "sections": [] if summary is None else list(_sections(summary, said)),
            "blind": {} if summary is None else _blind(summary),
            "versions": ", ".join(versions_of(runs)),
            "times": ", ".join(_times(runs)),
            "shared": "\n".join(f"{name}: {value}" for name, value in shared.items()),
        }
    )
    content |= {"models": models, "study_file": _study_file(study)}
    rows = {
        **_rows(table, summary, study.schedule.axes),
        "keys": {
            axis: {name: key for key, name in names.items()}
            for axis, names in study.schedule.method_names().items()
        },
        "settings": list(settings.values()),
        "runs": [
            {
                "settings": indices[status.run.group.read],
                "facts": list(_facts(status)),
                "links": _links(study.folder.run(status.run.id), folder),
            }
            for status in runs
        ],
    }
    data = {"explorers": [model.explorer for model in models], "study": without_paths(rows)}
    return document("study.html", (*EXPLORER_SCRIPTS, "runs_table.js"), content, data)


def _summary(study: Study, target: str | None) -> tuple[StudySummary | None, str]:
    """Tables of a study, or the reason why there are none yet."""
    try:
        return study.summary(target), ""
    except NothingToCompareError as error:
        if target is not None:
            raise
        return None, str(error).removeprefix(f"{study.schedule.name}: ")


def _data(study: Study, runs: Sequence[RunStatus]) -> str:
    """The data set as the pages of the runs name it; empty if they name several."""
    names = {}
    for run, group in ((status.run.id, status.run.group) for status in runs):
        folder = study.folder.run(run)
        if group.read not in names and (folder / SCORES).is_file():
            with suppress(InputError):  # damaged, as the page of the run says
                records = without_paths(read_scores(folder))
                facts = facts_of(published(group.config), scored_record(records))
                names[group.read] = facts.get("data set", "")
    several = set(names.values())
    return several.pop() if len(several) == 1 else ""


def _times(runs: Sequence[RunStatus]) -> Iterator[str]:
    """The time of each stage in all runs and, from a second on, in the median one."""
    seconds: dict[str, list[float]] = {}
    for status in runs:
        for stage, done in status.done.items():
            seconds.setdefault(stage, []).append(done.seconds)
    for stage, times in seconds.items():
        each = f" ({duration(median(times))} the median run)" if median(times) >= 1 else ""
        yield f"{stage} {duration(sum(times))}{each}"


def _blind(summary: StudySummary) -> dict[str, str]:
    """What the scores in the tables cannot see."""
    names = (name.partition("score.")[2] for name in summary.measures)
    return blind_spots(dict.fromkeys(filter(None, names), 0.0))


def _described(study: Study, table: pd.DataFrame, shared: Mapping[str, str], data: str) -> str:
    """Sentence with the number of runs, what they share, the axes, and the number of seeds."""
    seeds = table["seed"].nunique()
    method, steps = map(shared.get, ("method", "trainer.max_steps"))
    data = data or shared.get("data.dataset", "")
    what = f" of {method}" if method else ""
    what += f" on {data}" if data else ""
    what += f", {int(steps):,} steps" if steps and steps.isdecimal() else ""
    parts = [f"{len(table):,} run{'s' * (len(table) != 1)}{what}"]
    for number, axis in enumerate(study.schedule.axes):
        if axis == "trainer.max_steps" and steps:
            continue  # told already
        outer = [name for name in study.schedule.axes[:number] if nested(table, axis, name)]
        parts.append(f"{label(axis)}: {_range(table, axis, outer)}")
    return "; ".join([*parts, f"{seeds} seed{'s' * (seeds != 1)}"])


def _range(table: pd.DataFrame, axis: str, outer: Sequence[str]) -> str:
    """The values of an axis, or how many there are and, of numbers, the ends.

    `outer` holds the axes each of whose values has values of this axis of its own.
    """
    column = table[axis].dropna()
    values = list(dict.fromkeys(map(setting_text, column)))
    if len(values) <= _MOST_VALUES:
        return ", ".join(values)
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.isna().any():
        return f"{len(values)} values"
    own = next((f"; each {label(other)} has its own" for other in outer), "")
    return f"{numbers.min():g} to {numbers.max():g} ({len(values)} values{own})"


def _headline(table: pd.DataFrame) -> dict[str, str]:
    """Number of runs by state, unless all have finished."""
    counts = table["state"].value_counts()
    facts = {state: str(counts[state]) for state in _STATES if state in counts}
    return {} if list(facts) == ["finished"] else facts


def _verdict(summary: StudySummary) -> str:
    return conclusion(summary.runs, summary.axes, summary.measures, summary.target)


def _pages(study: Study, folder: Path) -> dict[str, str]:
    """Address of the page of each run, or of its row in the table of runs if it has none."""
    links = {run.id: dict(_links(study.folder.run(run.id), folder)) for run in study.schedule.runs}
    return {run: addresses.get(_PAGE, f"#run-{run}") for run, addresses in links.items()}


def _means(
    summary: StudySummary | None, axes: Sequence[str], pages: Mapping[str, str], said: str
) -> dict[str, Any]:
    """Table of means of the target and of two more scores by the first axis, and its legend."""
    if summary is None:
        return {"means": None, "legend": ""}
    axes = [axis for axis in summary.axes if axis in axes]
    means = headline_table(summary.runs, axes, summary.measures, summary.target)
    others = [axis for axis in summary.axes if axis not in axes[:1]]
    words = legend(means, summary.runs, said)
    means = means.reset_index()
    rows = [list(map(str, row)) for row in means.to_numpy()]
    links = {}
    for row in rows:
        if (run := row[-1]) in pages:
            row[-1] = named_run(summary.runs, run, others)
            links[row[-1]] = pages[run]
    return {"means": Table(list(map(str, means)), rows, links), "legend": words}


def _finite(summary: StudySummary) -> pd.Series:
    scores = summary.runs[summary.target].astype(float)
    return scores[scores.map(math.isfinite)]


def _digits(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def _no_models(reason: str, load: Load | None) -> str:
    if reason:
        return "No model to show."
    return "" if load is not None else "The page was written without explorers."


def _models(study: Study, summary: StudySummary, load: Load) -> Iterator[_Model]:
    """The best, the median and the worst run, each once."""
    scores = _finite(summary)
    best = summary.measures[summary.target]
    order = scores.sort_values(ascending=best == "lowest", kind="stable").index
    positions = {"Best": 0, "Median": (len(order) - 1) // 2, "Worst": len(order) - 1}
    seen: set[int] = set()
    for rank, position in positions.items():
        if position in seen:
            continue
        seen.add(position)
        run = order[position]
        score = f"{label(summary.target)} {_digits(scores[run])}"
        settings = run_values(summary.runs, run, summary.axes)
        described = ", ".join([score, *settings, f"run {run}"])
        explorer, reason = _explorer(load(study.folder.run(run)))
        yield _Model(rank, without_paths(described), explorer, without_paths(reason))


def _explorer(run: ReportedRun) -> tuple[dict[str, Any] | None, str]:
    if run.module is None or run.data is None:
        return None, "the checkpoint or the data could not be read when the page was written"
    try:
        return explorer_of(run.module, run.data, *_carried(run.folder)), ""
    except InputError as error:  # the method has nothing to explore
        return None, str(error)


def _carried(run: Path) -> tuple[LatentInformation | None, list[str]]:
    """What latents know about factors, and the factors that untrained models predict no worse.

    Both are as the page of the run says; None and nothing if not scored.
    """
    try:
        scored = scored_record(read_scores(run))
    except InputError:  # no scores, or damaged ones
        return None, []
    return information_in(scored), unearned_in(scored)


def _is_known(value: Any) -> bool:
    return value is not None and bool(value == value)  # NaN is not


def _rows(table: pd.DataFrame, summary: StudySummary | None, axes: Sequence[str]) -> dict[str, Any]:
    """Table of runs: columns, rows, and the column that determines the initial order."""
    measures: Mapping[str, str] = {} if summary is None else summary.measures
    runs = table if summary is None else summary.runs
    kinds = {**dict.fromkeys(axes, "setting"), "seed": "seed", "state": "state"}
    results = [name for name in map(str, runs) if name not in kinds]
    first = results
    if summary is not None:
        main = headline_measures(summary.measures, summary.target)
        first = list(dict.fromkeys([*main, *measures]))
    names = list(dict.fromkeys([*axes, "seed", "state", *first, *results]))
    heads = labels(names)
    same = {axis for axis in axes if runs[axis].map(repr).nunique() < 2}
    same |= {"state"} if set(runs["state"]) <= {"finished"} else set()
    columns: list[dict[str, Any]] = [{"label": "run", "name": "run", "kind": "run", "shown": True}]
    cells = [list(map(str, runs.index))]
    for name in names:
        kind = kinds.get(name, "result")
        is_shown = kind != "result" or name in first[:_MOST_SHOWN]
        columns.append(
            {
                "label": heads[name],
                "name": name,
                "kind": kind,
                "shown": is_shown and name not in same,
                "lower": measures.get(name) == "lowest",
            }
        )
        cells.append([_cell(value) for value in runs[name]])
    return {
        "columns": columns,
        "rows": [list(row) for row in zip(*cells, strict=True)],
        "by": None if summary is None else 1 + names.index(summary.target),
        "descending": summary is not None and measures[summary.target] == "highest",
    }


def _cell(value: Any) -> Any:
    """A value as JSON; missing and infinite numbers become null."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not _is_known(plain):
        return None
    if isinstance(plain, float):
        return float(f"{plain:.{_DIGITS}g}") if math.isfinite(plain) else None
    return plain if isinstance(plain, int) and not isinstance(plain, bool) else str(plain)


_FIRST: Final = ("method", "model", "data", "trainer.max_steps")
"""Beginnings of the settings that are shown first."""


def _settings(runs: Sequence[RunStatus]) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Settings shared by all runs, and the distinguishing settings of each group of runs."""
    groups = {status.run.group.read: status.run.group for status in runs}
    flat = {
        key: {
            name: str(value)
            for name, value in flat_settings(published(group.config)).items()
            if name not in _NOT_SHOWN
        }
        for key, group in groups.items()
    }
    every = dict.fromkeys(name for settings in flat.values() for name in settings)
    names = sorted(every, key=lambda name: not name.startswith(_FIRST))
    values = {name: {settings.get(name) for settings in flat.values()} for name in names}
    shared = {name: str(next(iter(values[name]))) for name in names if len(values[name]) == 1}
    differ = {
        key: {
            name: settings[name]
            for name in names
            if name in settings and name not in shared and name not in groups[key].axes
        }
        for key, settings in flat.items()
    }
    return shared, differ


def _facts(status: RunStatus) -> Iterator[tuple[str, str]]:
    """Names and texts of a run's facts: state, time of each stage, failures."""
    yield "state", "waiting" if status.state == "running" else status.state
    for stage, done in status.done.items():
        yield stage, duration(done.seconds)
        if done.message:
            yield f"{stage}: {done.outcome}", done.message
    for stage, failed in status.failed.items():
        yield f"{stage}: failed ({failed.kind})", failed.message


def _links(run: Path, folder: Path) -> list[tuple[str, str]]:
    """Labels and links of the run's own page and of its settings, where they exist."""
    links = []
    for name, file in ((_PAGE, PAGE), ("its settings", CONFIG)):
        if (run / file).is_file():
            try:
                address = os.path.relpath(run / file, folder)
            except ValueError:  # a different drive on Windows
                continue
            links.append((name, quote(address.replace(os.sep, "/"))))
    return links


def _study_file(study: Study) -> str:
    path = study_file_of(study.path, study.schedule.name)
    if not path.is_file():  # older dislab versions kept only the last study file
        path = study.path / STUDY
        if not path.is_file() or read_schedule(study.path).name != study.schedule.name:
            return ""
    text = path.read_text(encoding="utf-8")
    try:
        content = parse_mapping(text, str(path), "base: [betavae.yaml]")
    except InputError:
        return ""
    published_content = without_paths({**content, "axes": _published_axes(content.get("axes"))})
    if (
        published_content == {**content, "axes": content.get("axes")}
        and without_paths(text) == text
    ):
        return text  # with its comments
    return yaml_text(published_content)


def _published_axes(axes: Any, inside: bool = False) -> Any:
    """Axes of a study file; the settings of loggers and the like are hidden.

    `inside` says that the keys are settings of one value of an axis.
    """
    if not isinstance(axes, Mapping):
        return axes
    published_axes = {}
    for name, values in axes.items():
        if inside and name == "axes":
            published_axes[name] = _published_axes(values)
        elif isinstance(values, Mapping) and not inside:
            published_axes[name] = {
                label: _published_axes(settings, True) for label, settings in values.items()
            }
        elif is_published(str(name)) or (inside and name == "config"):
            published_axes[name] = values
        else:
            published_axes[name] = "…"
    return published_axes


def _sections(summary: StudySummary, verdict: str) -> Iterator[_Section]:
    """The tables of a study with their pictures; without that of a table that lacks support.

    No section repeats what the verdict says about too few seeds.
    """
    pictures_of: dict[str, list[PagePicture]] = {}
    for picture in pictures(summary, _MOST_PICTURES):
        if not _has_support(summary.tables.get(picture.name)):
            continue
        section = "means" if picture.name.startswith(_OF_MEANS) else "rank_correlations"
        caption = picture.caption.removesuffix(".")
        pictures_of.setdefault(section, []).append(
            PagePicture(picture.name, drawing(picture.figure), caption)
        )
    said = {""}
    for name, table in summary.tables.items():
        details = "" if table.details in said else table.details.translate(_PLAIN)
        said.add(table.details)
        is_open = name.startswith("comparisons_") or _has_support(table)
        unsupported = "" if is_open else ": no p (Holm) below 0.05"
        tables = {}
        for index, part in enumerate(table.excerpts):
            ending = unsupported if part.index.name is None else ""
            caption = f"{_caption(table, index, summary.axes)}{ending}"
            tables[caption] = _table(part, summary)
        folded = [
            caption
            for caption, content in tables.items()
            if (name == "means" and len(content.rows) > _FEW_ROWS)
            or len(content.heads) > _MOST_COLUMNS
            or (unsupported and caption.endswith(unsupported))
        ]
        if max(map(len, table.excerpts)) < len(table.table) <= _MOST_ROWS:
            folded.append("Every number")
            tables["Every number"] = _table(_in_words(table.table, summary.axes), summary)
        note = table.note.replace(table.few, "") if table.few.strip() in verdict else table.note
        text = note.translate(_PLAIN)
        if name == "means":
            text += f"\n{_reading(summary)}"
        yield _Section(name, table.title, text, pictures_of.get(name, []), tables, folded, details)
    if summary.absent:
        axes = {f"comparisons_{text}": label(axis) for axis, text in slugs(summary.axes).items()}
        titles = {
            name: f"Comparisons of {axes[name]}"
            if name in axes
            else f"{name[0].upper()}{name[1:]}".replace("_", " ")
            for name in summary.absent
        }
        names: dict[str, list[str]] = {}
        for name, reason in summary.absent.items():
            names.setdefault(reason, []).append(titles[name])
        reasons = [f"{'; '.join(same)}: {reason}." for reason, same in names.items()]
        yield _Section("left_out", "Tables left out", "\n".join(reasons), [], {}, [])


def _reading(summary: StudySummary) -> str:
    """The good end of each score, and the abbreviations in the names of scores."""
    text, ends = "", {"highest": "Higher", "lowest": "Lower"}
    for best in ends:
        names = [label(score) for score, end in summary.measures.items() if end == best]
        text += f" {ends[best]} is better: {', '.join(names)}." * bool(names)
    agreement = [name for name in map(str, summary.runs) if name.startswith(AGREEMENT)]
    short = abbreviations(map(label, [*summary.measures, *agreement]))
    return (text + f" {short}." * bool(short)).strip()


def _has_support(table: NamedTable | None) -> bool:
    """Whether some corrected p of a table is below .05; without a p it counts as supported."""
    return (
        table is None or "p_holm" not in table.table or bool((table.table["p_holm"] < LEVEL).any())
    )


def _caption(table: NamedTable, index: int, axes: Sequence[str]) -> str:
    """Caption of one of the tables of a section: the scores of means, or the first column."""
    excerpt = table.excerpts[index]
    if index == 0 and len(table.excerpts) < 3:
        return table.title
    if excerpt.index.name is not None:
        return f"{table.title}: {excerpt.index.name}"
    settings = {*axes, *labels(axes).values()}
    names = [str(name) for name in excerpt if name not in settings | {"runs"}]
    are_means = any(name in excerpt for name in settings)
    return f"{table.title}: {', '.join(names if are_means else names[:1])}"


def _in_words(table: pd.DataFrame, axes: Sequence[str]) -> pd.DataFrame:
    """A complete table with its columns, and the scores in them, named as in its excerpts."""
    columns = [name for name in _OF_SCORES if name in table]
    scores = labels(dict.fromkeys(map(str, table[columns].to_numpy().ravel())))
    heads = {name: _HEADS.get(name, name.replace("_", " ")) for name in map(str, table)}
    named = table.assign(**{name: table[name].map(scores) for name in columns})
    return named.rename(columns=heads | labels(axes))


def _table(frame: pd.DataFrame, summary: StudySummary) -> Table:
    """A table with its numbers formatted as text; values of settings stay unchanged."""
    plain = frame.copy()
    values = {axis: {*summary.runs[axis].map(setting_text), "–"} for axis in summary.axes}
    settings = {name: values[axis] for axis in values for name in (axis, label(axis))}
    settings |= dict.fromkeys(("first", "second"), set().union(*values.values()))  # compared
    for index, (name, column) in enumerate(frame.items()):
        if set(column.map(setting_text)) <= settings.get(str(name), set()):
            plain.isetitem(index, list(map(setting_text, column)))
    is_matrix = frame.index.name is not None
    digits = 2 if is_matrix and len(frame.columns) >= _MANY_COLUMNS else 3
    cells = texts(plain.round(2) if digits == 2 else plain, digits)
    rows = [list(map(str, row)) for row in cells.to_numpy()]
    return Table(list(map(str, cells.columns)), rows, is_matrix=is_matrix)
