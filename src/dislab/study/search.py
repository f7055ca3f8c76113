"""The trials of a search, each proposed from the results in the folder of the study."""

import math
import time
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from dislab.errors import InputError
from dislab.study.claims import Claims
from dislab.study.resolving import OF_NO_SCORE, no_target
from dislab.study.results import StudyFolder
from dislab.study.samplers import Number, Range, Trial, load_sampler
from dislab.study.schedule import Schedule, ScheduledGroup, ScheduledRun, SearchPlan, read_schedule
from dislab.study.stages.score import CHANCE, SUFFIXES
from dislab.study.study import Study
from dislab.study.trials import point_in, ranges_of, still_in, trial_of

if TYPE_CHECKING:
    import pandas as pd

SEARCH: Final = "search"
"""Name of the claim of whoever adds trials; names of runs are hexadecimal."""
_PATIENCE: Final = 0.5
"""Seconds between two tries to take it."""
_ATTEMPTS: Final = 100
"""Proposals of points that were tried already, after which a space counts as exhausted."""


class Searcher:
    """Adds trials to a schedule; keeps the results of ended trials, which do not change.

    Args:
        folder: The folder of the study.
    """

    def __init__(self, folder: StudyFolder) -> None:
        self._folder = folder
        self._ended: dict[str, Trial] = {}

    def extended(self, schedule: Schedule) -> Schedule | None:
        """The schedule with one more trial, in the space that has the fewest; None if it has all.

        Raises:
            InputError: The target of the search is no result of the study.
        """
        from dislab.study.identity import run_id  # imports torch, which `study status` needs not

        search = schedule.search
        spaces = search.spaces if search else ()
        numbered = sorted(
            ((self.trials(schedule, space), space) for space in spaces),
            key=lambda part: len(part[0]),
        )
        for trials, space in numbered:
            if search is None or len(trials) >= search.settings.trials:
                continue
            point = _proposed(search, space, trials)
            if point is not None:
                group = trial_of(space, point)
                runs = [ScheduledRun(run_id(group.training, s), s, group) for s in search.seeds]
                _check_new(schedule, runs)
                return replace(schedule, runs=(*schedule.runs, *runs))
        return None

    def trials(self, schedule: Schedule, space: ScheduledGroup) -> list[Trial]:
        """The trials of a space in the order in which they were proposed."""
        groups: dict[str, list[ScheduledRun]] = {}
        for run in schedule.runs:
            groups.setdefault(run.group.read, []).append(run)
        trials = []
        for read, runs in groups.items():
            point = point_in(runs[0].group, space)
            if point is None:
                continue
            trial = self._ended.get(read) or self._trial(schedule, runs, point)
            if trial.has_ended:
                self._ended[read] = trial
            trials.append(trial)
        return trials

    def _trial(
        self, schedule: Schedule, runs: Sequence[ScheduledRun], point: dict[str, Number]
    ) -> Trial:
        study = Study.of(self._folder.path, replace(schedule, runs=tuple(runs)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of tables, which are given where tables are
            table = study.table()
            states = set(table["state"])
            if states & {"waiting", "running"}:
                return Trial(point, None, has_ended=False)
            if schedule.search is None or states != {"finished"}:
                return Trial(point, None, has_ended=True)
            if schedule.search.settings.target == "udr":
                table = table.join(study.agreement())
        value = float(table[_column(schedule.search, table)].mean(skipna=False))
        return Trial(point, value if math.isfinite(value) else None, has_ended=True)


def write_schedule(folder: StudyFolder, schedule: Schedule) -> Schedule:
    """Writes a schedule with the trials that workers have added since it was made."""
    if schedule.search is None:
        schedule.write(folder.path)
        return schedule
    claims = Claims(folder.claims)
    while (claim := claims.take(SEARCH)) is None:
        time.sleep(_PATIENCE)
    try:
        schedule = _with_added(folder, schedule, schedule.search)
        schedule.write(folder.path)
    finally:
        claim.release()
    return schedule


def _with_added(folder: StudyFolder, schedule: Schedule, search: SearchPlan) -> Schedule:
    from dislab.study.identity import run_id  # imports torch

    try:
        written = read_schedule(folder.path, schedule.name).runs
    except InputError:  # no readable plan, and so no trials
        return schedule
    present = {run.id for run in schedule.runs}
    groups = {run.group.read: run.group for run in written if run.id not in present}
    trials = [
        trial
        for space in search.spaces
        for group in groups.values()
        if (trial := still_in(group, space)) is not None
    ]
    runs = [
        ScheduledRun(run_id(t.training, seed), seed, t) for t in trials for seed in search.seeds
    ]
    added = [run for run in runs if run.id not in present]
    return replace(schedule, runs=(*schedule.runs, *added))


def search_lines(study: Study) -> Iterator[str]:
    """For each space that is searched, its trials, the best one and the command of its page."""
    search = study.schedule.search
    if search is None:
        return
    settings, searcher, is_chosen = search.settings, Searcher(study.folder), False
    chance = _chance(study, search)
    for space in search.spaces:
        try:
            trials = searcher.trials(study.schedule, space)
        except InputError as error:
            yield str(error)
            return
        fixed = [
            f"{name} {label}"
            for name, label in space.axes.items()
            if label is not None and not isinstance(label, Range) and study.schedule.varies(name)
        ]
        ended = sum(trial.has_ended for trial in trials)
        name = f"search of {', '.join(fixed)}" if fixed else "search"
        line = f"{name}: {ended} of {settings.trials} trials"
        if failed := sum(trial.has_ended and trial.value is None for trial in trials):
            line += f", {failed} without result"
        values = [(trial.value, trial.point) for trial in trials if trial.value is not None]
        if values:
            best = (max if settings.maximize else min)(values, key=lambda part: part[0])
            point = ", ".join(f"{name} {value:g}" for name, value in best[1].items())
            line += f"; best {settings.target} {best[0]:.4g}{chance}: {point}"
            is_chosen = is_chosen or len(values) > 1
        yield line
        if values:
            runs = [r for r in study.schedule.runs if point_in(r.group, space) == best[1]]
            which = "its page" if len(runs) == 1 else f"page of seed {runs[0].seed}"
            yield f"  dislab report {study.folder.run(runs[0].id)}  # {which}"
    if is_chosen:
        yield "the best of many trials looks better than it is: train it again with other seeds"


def _chance(study: Study, search: SearchPlan) -> str:
    """The mean chance level of the target, in brackets, if it has one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = study.table()
    levels = [f"{name}{CHANCE}" for name in _candidates(search)]
    return "".join(f" (chance {table[level].mean():.4g})" for level in levels if level in table)


def _proposed(
    search: SearchPlan, space: ScheduledGroup, trials: Sequence[Trial]
) -> dict[str, Number] | None:
    """A point that was not tried yet; None if the sampler finds none."""
    from dislab.functional.random import host_generator  # imports torch

    ranges = ranges_of(space.axes)
    fixed = [f"{name}: {label}" for name, label in space.axes.items() if name not in ranges]
    sampler = load_sampler(search.settings.sampler)
    for attempt in range(_ATTEMPTS):
        counters = (zlib.crc32(repr(fixed).encode()), len(trials), attempt)
        seed = int(host_generator(search.settings.seed, *counters).integers(2**32))
        values = sampler.propose(ranges, trials, search.settings.maximize, seed)
        point = {name: limits.nearest(values[name]) for name, limits in ranges.items()}
        if all(trial.point != point for trial in trials):
            return point
    return None


def _column(search: SearchPlan, table: "pd.DataFrame") -> str:
    """The column of the table that the search improves."""
    target = search.settings.target
    for name in _candidates(search):
        if name in table:
            return name
    results = [str(name) for name in table if "." in str(name) and not str(name).endswith(SUFFIXES)]
    results = [name for name in results if name not in search.spaces[0].axes]
    raise no_target(target, (name.removeprefix("score.") for name in results))


def _candidates(search: SearchPlan) -> tuple[str, ...]:
    """Possible names of that column."""
    target = search.settings.target
    return OF_NO_SCORE.get(target, (target, f"score.{target}"))


def _check_new(schedule: Schedule, runs: Sequence[ScheduledRun]) -> None:
    present = {run.id: run for run in schedule.runs}
    for run in runs:
        if (twin := present.get(run.id)) is not None:
            raise InputError(
                f"search: {run.group.axes} and {twin.group.axes} are the same run, as they differ "
                "in nothing that training depends on; search other settings"
            )
