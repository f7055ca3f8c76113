"""Progress bar over the runs of a study while workers run."""

import time
from typing import Final

from tqdm import tqdm

from dislab.study.status import duration
from dislab.study.study import Study

_LEAST: Final = 2.0
"""Seconds between two reads of the folder."""
_SHARE: Final = 0.02
"""Maximum share of the time spent reading it."""
_FORMAT: Final = "{desc}: {bar:20} {n_fmt}/{total_fmt} runs{postfix}"


class Progress:
    """Shows the number of ended runs and the remaining time; does nothing outside a terminal.

    `workers` is the number of simultaneous workers, as far as known.
    """

    def __init__(self, study: Study, workers: int = 1) -> None:
        self._study = study
        self._workers = workers
        self._due = 0.0
        total = len(study.plan.runs)
        self._bar = tqdm(desc=study.plan.name, total=total, bar_format=_FORMAT, disable=None)

    def tick(self) -> None:
        """Updates the bar from the folder, unless it was read a moment ago."""
        if self._bar.disable or time.monotonic() < self._due:
            return
        began = time.monotonic()
        status = self._study.status()
        counts = status.counts()
        self._bar.n = (
            counts.get("finished", 0) + counts.get("diverged", 0) + counts.get("failed", 0)
        )
        working = max(1, min(self._workers, counts.get("running", 0) or self._workers))
        parts = [f"{counts[s]} {s}" for s in ("running", "diverged", "failed") if s in counts]
        if status.remaining is not None:
            parts.append(f"{duration(status.remaining / working)} left")
        self._bar.set_postfix_str(", ".join(parts))
        self._due = time.monotonic() + max(_LEAST, (time.monotonic() - began) / _SHARE)

    def close(self) -> None:
        """Closes the bar and leaves it on the screen."""
        self._due = 0.0
        self.tick()
        self._bar.close()
