"""The state of a study: finished, running and waiting runs."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from dislab.study.plan import Plan, PlannedRun
from dislab.study.results import Done, Failed, State
from dislab.study.stages import FIRST


class RunStatus(NamedTuple):
    """One run.

    Attributes:
        run: The planned run.
        state: Its current state.
        done: Its finished stages.
        failed: Failed stages that are not retried.
    """

    run: PlannedRun
    state: State
    done: dict[str, Done]
    failed: dict[str, Failed]


class Status(NamedTuple):
    """Current state of a study.

    Attributes:
        runs: Every run, in the order of the study file.
        seconds: Total run time of finished stages, by stage.
        remaining: Seconds of work left for one worker, estimated from the median of each stage's
            finished runs; None if an unfinished stage has no finished run.
    """

    runs: list[RunStatus]
    seconds: dict[str, float]
    remaining: float | None

    def counts(self) -> dict[State, int]:
        """Number of runs in each state."""
        return dict(Counter(run.state for run in self.runs))


def state_of(
    plan: Plan,
    run: PlannedRun,
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
    if len(done) == len(plan.stages):
        return "finished"
    if run.id in working:
        return "running"
    if FIRST in failed or len(done) + len(failed) == len(plan.stages):
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


def lines(status: Status) -> Iterator[str]:
    """Lines that describe the current state of a study."""
    order: tuple[State, ...] = ("finished", "diverged", "failed", "running", "waiting")
    counts = status.counts()
    states = ", ".join(f"{counts[state]} {state}" for state in order if state in counts)
    yield f"{len(status.runs)} runs: {states}"
    for stage, seconds in status.seconds.items():
        done = sum(stage in run.done for run in status.runs)
        mean = f", {duration(seconds / done)} each" if done else ""
        yield f"  {stage}: {done} done{mean}"
    if counts.get("waiting") or counts.get("running"):
        is_known = status.remaining is not None
        work = (
            f"{duration(status.remaining or 0.0)} of one worker" if is_known else "unknown as yet"
        )
        yield f"work left: {work}"
    for run in status.runs:
        for stage, failed in run.failed.items():
            yield f"{run.run.id}: {stage} failed ({failed.kind}): {failed.message[:300]}"


def duration(seconds: float) -> str:
    """A time in seconds, in its two largest units.

    >>> duration(3725.0)
    '1 h 2 min'
    """
    rounded = round(seconds)
    if rounded < 120:
        return f"{rounded} s"
    minutes, hours = rounded // 60, rounded // 3600
    if minutes < 60:
        return f"{minutes} min"
    if hours < 48:
        return f"{hours} h {minutes % 60} min"
    return f"{hours // 24} d {hours % 24} h"
