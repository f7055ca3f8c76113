"""The state of a study, its estimated effort, and the progress bar that shows it."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tqdm import tqdm

from dislab.storage import duration
from dislab.study.results import LOG, Done, Failed, State
from dislab.study.schedule import Schedule, ScheduledRun, spelt
from dislab.study.stages import FIRST
from dislab.study.stages.train import has_checkpoint
from dislab.study.trials import expected

if TYPE_CHECKING:
    from dislab.study.study import Study


class RunStatus(NamedTuple):
    """One run.

    Attributes:
        run: The planned run.
        state: Its current state.
        done: Its finished stages.
        failed: Failed stages that are not retried.
        retried: Failed stages that are.
    """

    run: ScheduledRun
    state: State
    done: dict[str, Done]
    failed: dict[str, Failed]
    retried: Mapping[str, Failed] = MappingProxyType({})


class Status(NamedTuple):
    """Current state of a study.

    Attributes:
        runs: Every run, in the order of the study file.
        seconds: Total run time of finished stages, by stage.
        remaining: Seconds of work left for one worker, estimated from the median of each stage's
            finished runs of the same setting, else of the same value of the first axis, else of
            all, with the trials that a search will add; None if an unfinished stage has no finished
            run.
        known: The same without such stages.
        untimed: Names of these stages.
        left: Number of runs that still need a stage, by stage, with the trials that a search will
            add; without stages that no run needs.
    """

    runs: list[RunStatus]
    seconds: dict[str, float]
    remaining: float | None
    known: float = 0.0
    untimed: tuple[str, ...] = ()
    left: Mapping[str, int] = MappingProxyType({})

    def counts(self) -> dict[State, int]:
        """Number of runs in each state."""
        return dict(Counter(run.state for run in self.runs))


def state_of(
    schedule: Schedule,
    run: ScheduledRun,
    done: dict[str, Done],
    failed: dict[str, Failed],
    working: frozenset[str],
) -> State:
    """The state of a run.

    `failed` holds the stages that are not retried, and `working` the names of the runs that a
    worker has claimed.
    """
    if FIRST in done and done[FIRST].outcome == "diverged":
        return "diverged"
    if len(done) == len(schedule.stages):
        return "finished"
    if run.id in working:
        return "running"
    if FIRST in failed or len(done) + len(failed) == len(schedule.stages):
        return "failed"
    return "waiting"


def mixed_versions(runs: list[RunStatus]) -> str:
    """Sentence about versions that differ between runs; empty if none differ."""
    versions = _versions(runs)
    parts = [
        f"{name} {', '.join(several)}" for name, several in versions.items() if len(several) > 1
    ]
    return f"these numbers come from several versions: {'; '.join(parts)}" if parts else ""


def versions_of(runs: list[RunStatus]) -> list[str]:
    """Each distribution with the versions that produced the numbers of the runs."""
    return [f"{name} {' and '.join(several)}" for name, several in _versions(runs).items()]


def _versions(runs: list[RunStatus]) -> dict[str, list[str]]:
    versions: dict[str, set[str]] = {}
    for run in runs:
        for done in run.done.values():
            for name, version in done.versions.items():
                versions.setdefault(name, set()).add(version)
    return {name: sorted(several) for name, several in sorted(versions.items())}


def states_line(states: Sequence[str]) -> str:
    """Number of runs and of those in each state: `6 runs: 5 finished, 1 waiting`.

    Args:
        states: The state of each run.
    """
    order: tuple[State, ...] = ("finished", "diverged", "failed", "running", "waiting")
    counts = ", ".join(f"{states.count(name)} {name}" for name in order if name in states)
    return f"{len(states)} run{'s' * (len(states) != 1)}: {counts}"


def lines(study: "Study", status: Status | None = None) -> Iterator[str]:
    """Lines that describe the state of a study, which is read unless it is given."""
    status, schedule = status or study.status(), study.schedule
    added = len(expected(schedule).runs) - len(status.runs)  # by a search, later
    states = states_line([*(run.state for run in status.runs), *["waiting"] * added])
    begun = sum(
        run.state == "waiting" and bool(run.done or has_checkpoint(study.folder.run(run.run.id)))
        for run in status.runs
    )
    yield f"{states} ({begun} of them begun and to be continued)" if begun else states
    for stage, seconds in status.seconds.items():
        done = sum(stage in run.done for run in status.runs)
        mean = f", {duration(seconds / done)} each" if done else ""
        yield f"  {stage}: {done} done{mean}"
    if status.known or status.untimed:
        known = [f"{duration(status.known)} of one worker"] if status.known else []
        untimed = [f"{', '.join(status.untimed)} unknown as yet"] if status.untimed else []
        yield f"work left: {'; '.join([*known, *untimed])}"
    for run in status.runs:
        for stage, failed in run.failed.items():
            yield (
                f"{_told(run.run, schedule)}: {stage} failed ({failed.kind}): "
                f"{failed.message[:300]}; its log: {study.folder.stage(run.run.id, stage) / LOG}"
            )
    if failures := sum(bool(run.failed) for run in status.runs):
        whose = f"{failures} failed runs are" if failures > 1 else "1 failed run is"
        yield (
            f"{whose} left out; `dislab study run {study.path} --retry_failed` tries again what "
            "failed"
        )


def training_steps(config: Mapping[str, Any]) -> int | None:
    """Optimiser steps of training a configuration; None if they depend on the data."""
    trainer = config.get("trainer") or {}
    data = (config.get("data") or {}).get("init_args") or {}
    limits = []
    steps, epochs = trainer.get("max_steps", -1), trainer.get("max_epochs")
    length, batches = data.get("steps_per_epoch"), trainer.get("accumulate_grad_batches", 1)
    if isinstance(steps, int) and steps >= 0:
        limits.append(steps)
    if (
        isinstance(epochs, int)
        and isinstance(length, int)
        and isinstance(batches, int)
        and epochs >= 0
        and length > 0
        and batches > 0
    ):
        limits.append(epochs * ceil(length / batches))
    return min(limits, default=None)


def estimate(schedule: Schedule, steps_per_second: float | None = None) -> Iterator[str]:
    """Lines that describe the training effort of a schedule.

    `steps_per_second` is the rate of one worker, measured on the machine that will train; without
    it, hours are not estimated.
    """
    steps = [n for run in schedule.runs if (n := training_steps(run.group.config)) is not None]
    others = len(schedule.runs) - len(steps)
    if not steps:
        yield "training: all runs count epochs, whose steps depend on the data"
        return
    least, most = min(steps), max(steps)
    each = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    more = f"; {others} more runs count epochs, whose steps depend on the data" if others else ""
    yield f"training: {sum(steps):,} steps, {each} a run{more}"
    if steps_per_second is None:
        return
    hours = sum(steps) / steps_per_second / 3600
    cards = (
        f", {hours * schedule.resources.gpus:,.1f} hours of one GPU"
        if schedule.resources.gpus
        else ""
    )
    stages = f"; without {', '.join(schedule.stages[1:])}" if schedule.stages[1:] else ""
    yield f"at {steps_per_second:g} steps a second: {hours:,.1f} hours of one worker{cards}{stages}"


MAIN: Final = ("mig", "dci_", "factor_vae_score")
"""Beginnings of the names of the scores that are shown first, if a study has them."""
_ENDED: Final[tuple[State, ...]] = ("finished", "diverged", "failed")
_LEAST: Final = 2.0
"""Seconds between two reads of the folder."""
_SHARE: Final = 0.02
"""Maximum share of the time spent reading it."""
_FORMAT: Final = "{desc}: {bar:20} {n_fmt}/{total_fmt} runs{postfix}"


class Progress:
    """Prints the number of runs, the first that begins, and each that ends or is tried again.

    On a terminal there is also a bar.

    `workers` is the number of simultaneous workers, None if it is not known.
    """

    def __init__(self, study: "Study", workers: int | None = None) -> None:
        self._study = study
        self._workers = workers
        self._has_begun = False
        self._is_first_told = False
        self._due = 0.0
        status = study.status()
        self._ended = {run.run.id for run in status.runs if run.state in _ENDED}
        self._before = {run.run.id: frozenset(run.done) for run in status.runs}
        self._attempts = _attempts(status)
        self._left = status.left
        self._total = len(expected(study.schedule).runs)
        self._bar = tqdm(
            desc=study.schedule.name, total=self._total, bar_format=_FORMAT, disable=None
        )

    def tick(self) -> None:
        """Reads the folder and shows what is new, unless it was read a moment ago."""
        if time.monotonic() < self._due:
            return
        if not self._has_begun:
            self._begin()
        self._show()

    def _begin(self) -> None:
        self._has_begun = True
        left = self._total - len(self._ended)
        runs = f"{left} run{'s' * (left != 1)} to do"
        if FIRST not in self._left and self._left:
            runs += f", {', '.join(self._left)} without training,"
        workers = min(self._workers or 0, left)
        with_workers = f" with {workers} worker{'s' * (workers != 1)}" * bool(workers)
        path = self._study.path
        self._bar.write(f"{self._study.schedule.name}: {runs}{with_workers} in {path}")

    def _show(self) -> None:
        began = time.monotonic()
        if self._study.schedule.search is not None:
            self._study = self._study.reread()
        status = self._study.status()
        counts = status.counts()
        self._bar.n = sum(counts.get(state, 0) for state in _ENDED)
        workers = min(self._workers or 1, self._total - self._bar.n)
        working = max(1, min(workers, counts.get("running", 0) or workers))
        left = ""
        if status.remaining is not None and self._study.schedule.search is None:
            left = f"{duration(status.remaining / working)} left"
        for run in status.runs:
            if run.state == "running" and not self._is_first_told:
                self._is_first_told = True
                ended = {*run.done, *run.failed}
                stages = self._study.schedule.stages
                stage = next((stage for stage in stages if stage not in ended), stages[-1])
                log = self._study.folder.stage(run.run.id, stage) / LOG
                told = _told(run.run, self._study.schedule)
                told += f", {stage}" * (stage != FIRST)
                self._bar.write(f"the first run has begun: {told}; its progress: {log}")
            for stage, failed in run.retried.items():
                if failed.attempts > self._attempts.get((run.run.id, stage), 0):
                    self._bar.write(retried_line(run.run, stage, failed, self._study.schedule))
            if run.state in _ENDED and run.run.id not in self._ended:
                self._ended.add(run.run.id)
                count = f"{len(self._ended)}/{self._total}"
                # the time is that of now, after all runs that have ended since the last look
                before = self._before.get(run.run.id, frozenset())
                text = ended_line(run, self._study.schedule, before)
                is_last = len(self._ended) == self._bar.n < self._total
                about = f", about {left}" if left and is_last else ""
                self._bar.write(f"[{count}{about}] {text}")
        self._attempts = _attempts(status)
        parts = [f"{counts[s]} {s}" for s in ("running", "diverged", "failed") if s in counts]
        parts += [left] if left else []
        self._bar.set_postfix_str(", ".join(parts))
        self._due = time.monotonic() + max(_LEAST, (time.monotonic() - began) / _SHARE)

    def close(self) -> None:
        """Closes the bar and leaves it on the screen."""
        self._show()
        self._bar.close()


def ended_line(status: RunStatus, schedule: Schedule, before: frozenset[str] = frozenset()) -> str:
    """One line about a run that ended: name, what differs, default target, and time.

    The time is that of the stages that are not in `before`.
    """
    from dislab.study.summary import default_target, label

    run, scores = status.run, status.done["score"].scores if "score" in status.done else {}
    main = [score for start in MAIN for score in scores if score.startswith(start)]
    result = "" if status.state == "finished" else f", {status.state}"
    if main and (score := scores[name := default_target(main)]) is not None:
        result += f", {label(f'score.{name}')} {score:.3f}"
    times = (done.seconds for stage, done in status.done.items() if stage not in before)
    return f"{_told(run, schedule)}{result} ({duration(sum(times, 0.0))})"


def retried_line(run: ScheduledRun, stage: str, failed: Failed, schedule: Schedule) -> str:
    """One line about a stage of a run that failed and is tried again."""
    reason = "out of memory" if failed.kind == "memory" else failed.message[:100]
    attempts = f"attempt {failed.attempts} of {1 + schedule.failure.retries}"
    return f"{_told(run, schedule)}: {stage} failed ({reason}), {attempts}; tried again"


def _attempts(status: Status) -> dict[tuple[str, str], int]:
    """Number of failed attempts by run and stage, of stages that are tried again."""
    return {
        (run.run.id, stage): failed.attempts
        for run in status.runs
        for stage, failed in run.retried.items()
    }


def _told(run: ScheduledRun, schedule: Schedule) -> str:
    """A run by its name, its settings and its seed; without settings that all runs share."""
    from dislab.study.summary import labels

    names = schedule.method_names()
    heads = labels(schedule.axes)
    settings = [
        f"{heads[axis]} "
        f"{names.get(axis, {}).get(value, value) if isinstance(value, str) else spelt(value)}"
        for axis, value in run.group.axes.items()
        if schedule.varies(axis)
    ]
    return f"{run.id}: {', '.join([*settings, f'seed {run.seed}'])}"
