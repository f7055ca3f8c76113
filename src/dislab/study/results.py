"""The state of each stage of a study's runs: done, diverged, failed, or not started."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from dislab.errors import InputError, warn
from dislab.storage import atomic, check_inside, json_text, read_json, record_of
from dislab.study.schedule import Schedule, ScheduledRun, other_schedules

RUNS: Final = "runs"
CLAIMS: Final = "claims"
STAGES: Final = "stages"
DONE: Final = "done.json"
FAILED: Final = "failed.json"
LOG: Final = "log.txt"

Kind = Literal["crash", "memory", "exception", "input"]
"""Kinds of failure: the process died, ran out of memory, met a bug, or had invalid settings."""

RETRIED: Final[tuple[Kind, ...]] = ("crash", "memory")
"""Failures that may not recur in another attempt."""

T = TypeVar("T", "Done", "Failed")

State = Literal["finished", "diverged", "failed", "running", "waiting"]
"""State of a run, as tables show it."""


class RecordWarning(UserWarning):
    """Warns of a damaged record, which counts as missing while all others are read."""


@dataclass(frozen=True)
class Done:
    """Record of a completed stage.

    Args:
        digest: Digest of the settings of the stage.
        outcome: `done`, or `diverged` if a loss became NaN or infinite.
        scores: Scores by name.
        seconds: Run time of the process, including interrupted attempts.
        versions: Versions of the distributions that the numbers may depend on.
        message: Reason for divergence.
        sources: Digests of the source files of plugins by module, which the stage depends on.
    """

    digest: str
    outcome: Literal["done", "diverged"]
    scores: dict[str, float | None]
    seconds: float
    versions: dict[str, str]
    message: str = ""
    sources: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """Record of a failed stage.

    Args:
        digest: Digest of the settings of the stage.
        kind: Kind of failure.
        message: One-line message.
        traceback: Traceback of the exception, if any.
        attempts: Number of attempts that failed in this way.
        versions: Versions of the distributions used.
    """

    digest: str
    kind: Kind
    message: str
    traceback: str = ""
    attempts: int = 1
    versions: dict[str, str] = field(default_factory=dict)


class StudyFolder:
    """Paths in the folder of a study, and the records in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def claims(self) -> Path:
        """The folder of the workers' claims on runs."""
        return self.path / CLAIMS

    def run(self, run: str) -> Path:
        """The folder of a run, from its name."""
        return self.path / RUNS / run

    def stage(self, run: str, stage: str) -> Path:
        """The folder with the records of a stage of a run, from their names."""
        return self.run(run) / STAGES / stage

    def done(self, run: ScheduledRun, stage: str) -> Done | None:
        """Record of a stage completed with the current settings of the run, or None."""
        return self._current(run, stage, DONE, Done)

    def failed(self, run: ScheduledRun, stage: str) -> Failed | None:
        """Record of a stage that failed with the current settings of the run, or None."""
        return self._current(run, stage, FAILED, Failed)

    def _current(self, run: ScheduledRun, stage: str, name: str, cls: type[T]) -> T | None:
        """A record of a stage; None if its settings have changed since, or if it is damaged.

        Warns:
            RecordWarning: The record is damaged.
        """
        path = self.stage(run.id, stage) / name
        if not path.is_file():
            return None
        try:
            record = read_json(path, "it counts as missing")
            if record.get("digest") != run.group.stages[stage].digest:
                return None
            return record_of(cls, record, str(path))
        except InputError as error:
            warn(str(error), RecordWarning)
            return None

    def other_settings(self, schedule: Schedule, is_next: bool = False) -> list[str]:
        """Sentences on finished stages of the study's runs that other studies have set otherwise.

        A run that two studies share has one result of each stage.

        Args:
            schedule: The study.
            is_next: Whether it begins, instead of being shown.
        """
        groups: dict[tuple[str, str], int] = {}
        for other in other_schedules(self.path, schedule.name):
            theirs = {run.id: run for run in other.runs}
            for stage in [stage for stage in schedule.stages if stage in other.stages]:
                count = sum(
                    self.done(theirs[run.id], stage) is not None
                    for run in schedule.runs
                    if run.id in theirs
                    and theirs[run.id].group.stages[stage].digest != run.group.stages[stage].digest
                )
                if count:
                    groups[stage, other.name] = count
        return [
            self._of_other(stage, other, count, schedule.name, is_next)
            for (stage, other), count in groups.items()
        ]

    def _of_other(self, stage: str, other: str, count: int, study: str, is_next: bool) -> str:
        several = count > 1
        runs = f"{count} run{'s' * several}"
        keeps = "another --folder keeps both"
        if is_next:
            return (
                f"stage {stage} of {runs} that {study} shares with the study {other} is done with "
                f"the settings of {other}; {study} makes it anew, and {other} will have to make "
                f"its own again; {keeps}"
            )
        return (
            f"{runs} wait{'s' * (not several)}: stage {stage} was done with other settings by the "
            f"study {other}; `dislab study run` with the file of {study} makes it anew, and "
            f"{other} will have to make its own again; {keeps}"
        )

    def write_done(self, run: ScheduledRun, stage: str, done: Done) -> None:
        """Records that a stage is done, and removes the record of an earlier failure."""
        folder = self.stage(run.id, stage)
        _write(folder / DONE, asdict(done))
        (folder / FAILED).unlink(missing_ok=True)

    def write_failed(self, run: ScheduledRun, stage: str, failed: Failed) -> None:
        """Records that a stage has failed."""
        _write(self.stage(run.id, stage) / FAILED, asdict(failed))

    def forget_failures(self, schedule: Schedule) -> int:
        """Removes all failure records, so that their stages are retried; returns their number."""
        records = [
            path
            for run in schedule.runs
            for stage in schedule.stages
            if (path := self.stage(run.id, stage) / FAILED).is_file()
        ]
        for path in records:
            check_inside(self.path, path.parent)
            path.unlink(missing_ok=True)
        return len(records)


def last_message(log: str) -> str:
    """The last line of a command's output, without the beginning of dislab's messages."""
    lines = [line.strip() for line in log.split("\n") if line.strip()]
    return lines[-1].removeprefix("dislab: ").removeprefix("error: ") if lines else ""


def is_given_up(failed: Failed | None, retries: int) -> bool:
    """Whether a failed stage is not retried; `retries` is the number of retries after a crash."""
    if failed is None:
        return False
    return failed.kind not in RETRIED or failed.attempts > retries


def _write(path: Path, record: Mapping[str, Any]) -> None:
    with atomic(path) as temporary:
        temporary.write_text(json_text(record), encoding="utf-8")
