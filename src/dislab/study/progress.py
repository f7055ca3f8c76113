"""A bar over the runs of a study while workers are at work."""

import time
from typing import Final

from tqdm import tqdm

from dislab.study.status import duration
from dislab.study.study import Study

_LEAST: Final = 2.0
"""Seconds between two looks at the folder."""
_SHARE: Final = 0.02
"""Of the time that may go into looking at it."""
_FORMAT: Final = "{desc}: {bar:20} {n_fmt}/{total_fmt} runs{postfix}"


class Progress:
    """Shows on a terminal how many runs have ended and the time that is left; elsewhere nothing.

    `workers` is the number of workers at once, as far as is known.
    """

    def __init__(self, study: Study, workers: int = 1) -> None:
        self._study = study
        self._workers = workers
        self._due = 0.0
        total = len(study.plan.runs)
        self._bar = tqdm(desc=study.plan.name, total=total, bar_format=_FORMAT, disable=None)

    def tick(self) -> None:
        """Looks at the folder again, unless it did a moment ago."""
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
        if status.left is not None:
            parts.append(f"{duration(status.left / working)} left")
        self._bar.set_postfix_str(", ".join(parts))
        self._due = time.monotonic() + max(_LEAST, (time.monotonic() - began) / _SHARE)

    def close(self) -> None:
        """Leaves the bar as it is."""
        self._due = 0.0
        self.tick()
        self._bar.close()
