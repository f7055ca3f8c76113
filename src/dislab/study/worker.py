"""A worker: claims one run after another and does its missing stages in processes."""

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol, cast, runtime_checkable

from dislab.errors import InputError, TrainingError
from dislab.naming.classes import method_of
from dislab.storage import atomic, check_inside, duration
from dislab.study.claims import BEAT, STALE, Claim, Claims
from dislab.study.results import (
    LOG,
    RETRIED,
    STAGES,
    Done,
    Failed,
    Kind,
    StudyFolder,
    is_given_up,
)
from dislab.study.schedule import Schedule, ScheduledRun, read_schedule
from dislab.study.search import SEARCH, Searcher
from dislab.study.sources import Sources
from dislab.study.stages import FIRST, load_stage
from dislab.study.stages.train import SETTINGS, has_checkpoint
from dislab.study.status import retried_line
from dislab.yaml_files import yaml_text

Outcome = Literal[
    "done", "diverged", "interrupted", "busy", "full", "crash", "memory", "exception", "input"
]
"""Outcome of a stage; among others, `busy` if another process works on the run, `full` if nothing
can be written, and `input` if a setting is wrong."""


class Report(NamedTuple):
    """Outcome of a process."""

    outcome: Outcome
    message: str = ""
    traceback: str = ""
    versions: dict[str, str] = {}  # noqa: RUF012  # replaced, never changed


class Task(NamedTuple):
    """A stage of a run, to be done by a process."""

    arguments: Sequence[str]
    """Arguments of `dislab`."""
    run: Path
    """The run folder."""
    log: Path
    """File for its output."""
    report: Path
    """File for its outcome."""


@runtime_checkable
class Unit(Protocol):
    """A running process."""

    def wait(self, seconds: float) -> bool:
        """Waits up to `seconds`; returns whether the process has ended."""

    def interrupt(self) -> None:
        """Asks the process to save its state and to end."""

    def kill(self) -> None:
        """Kills the process."""

    def report(self) -> Report:
        """Outcome of its task."""


Start = Callable[[Task], Unit]
"""Starts the process of a task."""


_POLL: Final = 0.5
"""Seconds between two polls of a running process."""
_PATIENCE: Final = 0.5
"""Seconds between two polls of runs claimed by other workers."""
_MESSAGE: Final = 60.0
"""Seconds between two messages while waiting for runs claimed by other workers."""
_SETTLING: Final = 2.0
"""Seconds within which the process of a dead worker notices this and ends."""
_GRACE: Final = 300.0
"""Seconds that an interrupted process gets to save its state."""


@dataclass(frozen=True)
class Settings:
    """Settings of a worker.

    Args:
        leave: End if other workers hold all remaining runs, instead of waiting for them.
        stale: Seconds without a heartbeat after which the run of another worker is taken over.
        alive: Returns whether to continue; a worker ends when its launcher is gone.
    """

    leave: bool = False
    stale: float = STALE
    alive: Callable[[], bool] = lambda: True


class Worker:
    """Works on the runs of a study until none is left.

    Any number of workers, on any machines, may work on one folder, and may start and stop at any
    time. `start` starts a process.

    Raises:
        InputError: The folder cannot be written to.
    """

    def __init__(
        self,
        folder: StudyFolder,
        schedule: Schedule,
        start: Start,
        settings: Settings | None = None,
    ) -> None:
        self._folder = folder
        self._schedule = schedule
        self._start = start
        self._settings = settings or Settings()
        self._stages = {word: load_stage(word) for word in schedule.stages}
        self._claims = Claims(folder.claims, self._settings.stale)
        self._searcher = Searcher(folder)
        self._sources = Sources()
        self._idle: tuple[float, float] | None = None
        """When the worker began to wait for other workers, and when it says so next."""

    def work(self) -> None:
        """Does the remaining work.

        Raises:
            InputError: The folder cannot be written to.
            TrainingError: The first runs have all failed in the same way.
        """
        try:
            open_runs = list(self._schedule.runs)
            while open_runs or (open_runs := self._added()):
                before = len(open_runs)
                open_runs = [run for run in open_runs if self._next(run) is not None]
                busy = [run for run in open_runs if not self._visit(run)]
                if len(busy) == len(open_runs) == before and open_runs:
                    if added := self._added():
                        open_runs += added
                        continue
                    if self._settings.leave:
                        return
                    self._pause(len(open_runs))
                else:
                    self._idle = None
        finally:
            self._claims.close()

    def _added(self) -> list[ScheduledRun]:
        """Runs of the search that this worker has not seen; it proposes them if nobody else has."""
        if self._schedule.search is None:
            return []
        while (claim := self._claims.take(SEARCH)) is None:
            self._check_launcher()
            time.sleep(_PATIENCE)
        try:
            seen = {run.id for run in self._schedule.runs}
            schedule = read_schedule(self._folder.path, self._schedule.name)
            if all(run.id in seen for run in schedule.runs):
                longer = self._searcher.extended(schedule)
                if longer is None:
                    return []
                schedule = longer
                last = read_schedule(self._folder.path)
                schedule.write(self._folder.path, is_last=last.name == schedule.name)
            self._schedule = schedule
            return [run for run in schedule.runs if run.id not in seen]
        finally:
            claim.release()

    def _check_launcher(self) -> None:
        if not self._settings.alive():
            raise KeyboardInterrupt("the launcher has ended")

    def _next(self, run: ScheduledRun) -> str | None:
        """The next stage of a run; None if it is finished or given up."""
        for stage in self._schedule.stages:
            done = self._folder.done(run, stage)
            if done is None:
                given_up = is_given_up(
                    self._folder.failed(run, stage), self._schedule.failure.retries
                )
                if not given_up:
                    return stage
                if stage == FIRST:
                    return None
            elif done.outcome == "diverged":
                return None
        return None

    def _visit(self, run: ScheduledRun) -> bool:
        """Does the remaining stages of a run; returns False if the run cannot be claimed."""
        claim = self._claims.take(run.id)
        if claim is None:
            return False
        try:
            if claim.inherited:
                time.sleep(_SETTLING)
            while (stage := self._next(run)) is not None:
                if not self._do(stage, run, claim):
                    return False
        finally:
            with suppress(OSError):  # a claim that cannot be released becomes stale
                claim.release()
        return True

    def _do(self, stage: str, run: ScheduledRun, claim: Claim) -> bool:
        """Does a stage of a run; False if another worker holds the run."""
        began = time.monotonic()
        unit = self._start(self._task(run, stage))
        mine = self._watch(unit, claim)
        report = unit.report()
        if not mine or report.outcome == "busy":
            return False
        self._record(run, stage, report, time.monotonic() - began)
        return True

    def _task(self, run: ScheduledRun, stage: str) -> Task:
        """Task for a stage of a run, with everything that its process needs."""
        here, stage_folder = self._folder.run(run.id), self._folder.stage(run.id, stage)
        check_inside(self._folder.path, stage_folder)
        try:
            stage_folder.mkdir(parents=True, exist_ok=True)
            for path in (
                stage_folder / LOG,
                *here.iterdir(),
            ):  # training would write through a link
                check_inside(self._folder.path, path)
            if stage == FIRST:
                self._prepare(run, here, stage_folder)
        except OSError as error:
            raise InputError(
                f"{stage_folder} cannot be written: {error.strerror}; make room"
            ) from error
        settings = run.group.stages[stage].settings
        arguments = self._stages[stage].arguments(here, settings, run.config)
        return Task(arguments, here, stage_folder / LOG, stage_folder / "report.json")

    def _prepare(self, run: ScheduledRun, here: Path, stage_folder: Path) -> None:
        """Writes the configuration of a run, and removes old files if there is no checkpoint."""
        if not has_checkpoint(here):
            for old in here.iterdir():
                if old.name != STAGES:
                    shutil.rmtree(old) if old.is_dir() else old.unlink()
        identity = {"name": run.id, "method": method_of(run.config), "runs": str(here.parent)}
        config = {**run.config, **identity, "then_test": False}
        with atomic(stage_folder / SETTINGS) as temporary:
            temporary.write_text(yaml_text(config), encoding="utf-8")

    def _watch(self, unit: Unit, claim: Claim) -> bool:
        """Waits for a process and renews the claim; False if another worker took over the run."""
        due = time.monotonic()
        try:
            while not unit.wait(_POLL):
                self._check_launcher()
                if time.monotonic() >= due:
                    due = time.monotonic() + min(BEAT, self._settings.stale / 4)
                    if not claim.beat():
                        unit.kill()
                        return False
        except BaseException:
            self._stop(unit, claim)
            raise
        return True

    def _stop(self, unit: Unit, claim: Claim) -> None:
        """Asks a process to end, and gives it time to save its state."""
        unit.interrupt()
        end = time.monotonic() + _GRACE
        try:
            while time.monotonic() < end and not unit.wait(_POLL):
                claim.beat()
        finally:
            unit.kill()
            unit.report()  # also removes its file

    def _record(self, run: ScheduledRun, stage: str, report: Report, seconds: float) -> None:
        digest = run.group.stages[stage].digest
        outcome = report.outcome
        if outcome == "interrupted":  # not by this worker, which continues
            return
        if outcome == "full":
            raise InputError(
                f"{report.message}; finished stages are whole: make room, and run the study again"
            )
        if outcome in ("done", "diverged"):
            scores = self._stages[stage].scores(self._folder.run(run.id))
            done = Done(
                digest,
                "diverged" if outcome == "diverged" else "done",
                scores if outcome == "done" else {},
                round(seconds, 1),
                report.versions,
                report.message,
                self._sources.of(run, stage),
            )
            self._folder.write_done(run, stage, done)
            return
        kind = cast("Kind", outcome)
        before = self._folder.failed(run, stage)
        attempts = 1 + (before.attempts if before and before.kind in RETRIED else 0)
        failed = Failed(digest, kind, report.message, report.traceback, attempts, report.versions)
        self._folder.write_failed(run, stage, failed)
        if is_given_up(failed, self._schedule.failure.retries):
            self._look_for_the_same(stage, failed, self._folder.stage(run.id, stage) / LOG)
        else:
            print(retried_line(run, stage, failed, self._schedule), flush=True)

    def _look_for_the_same(self, stage: str, failed: Failed, log: Path) -> None:
        """Stops the study if its first runs have all failed in the same way."""
        alike = 0
        for run in self._schedule.runs:
            if self._folder.done(run, stage) is not None:
                return
            failure = self._folder.failed(run, stage)
            alike += failure is not None and _alike(failure, failed)
        if alike >= self._schedule.failure.stop_after:
            raise TrainingError(
                f"the study was stopped: {stage} of {alike} runs has failed alike, and none has "
                f"succeeded: {failed.message}; the last log: {log}"
            )

    def _pause(self, runs: int) -> None:
        """Waits a moment for runs of other workers, and says so at first and every minute."""
        self._check_launcher()
        now = time.monotonic()
        begin, due = self._idle or (now, now)
        if now >= due:
            due = now + _MESSAGE
            still = f", for {duration(now - begin)}" if self._idle else ""
            print(f"waiting for {runs} run{'s' * (runs != 1)} of other workers{still}", flush=True)
        self._idle = begin, due
        time.sleep(_PATIENCE)


def _alike(first: Failed, second: Failed) -> bool:
    """Whether two runs failed in the same way, apart from file names."""
    if first.kind != second.kind:
        return False
    return first.kind in RETRIED or _bare(first.message) == _bare(second.message)


def _bare(message: str) -> str:
    """A message without words that contain a digit, such as run names and numbers."""
    return " ".join(word for word in message.split() if not any(c.isdigit() for c in word))
