"""Claims: assign runs to workers through any file system that several machines share.

A claim is a file `<run>.<generation>` that only one worker can create. Its modification time, by
the clock of the file system, is the worker's heartbeat. Another worker takes over a claim without a
recent heartbeat by creating the file of the next generation, which again succeeds for one worker
only; so no lock is needed. The former owner sees the higher generation and stops.
"""

import json
import os
import platform
import re
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Final

from dislab.errors import InputError
from dislab.storage import check_inside, read_json

BEAT: Final = 5.0
"""Interval between heartbeats, in seconds."""
STALE: Final = 60.0
"""Seconds without a heartbeat after which another worker may take over a claim."""


class Claim:
    """A run claimed by this worker: the claim file and the worker's entry in it."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    @property
    def inherited(self) -> bool:
        """Whether another worker held the run before and never released it."""
        return _parts(self._path)[1] > 0

    def beat(self) -> bool:
        """Sends a heartbeat; returns whether the worker still holds the run."""
        run, generation = _parts(self._path)
        try:
            if self._path.read_text(encoding="utf-8") != self._text:
                return False
            os.utime(self._path)
        except FileNotFoundError:
            return False
        return _latest(self._path.parent, run) == generation

    def release(self) -> None:
        """Releases the run."""
        run, generation = _parts(self._path)
        for path in _claims(self._path.parent, run):
            if 0 <= _parts(path)[1] <= generation:
                path.unlink(missing_ok=True)


class Claims:
    """Claims on the runs of one folder.

    Args:
        folder: Folder of the claim files; created if missing.
        stale: Seconds without a heartbeat after which another worker may take over a claim.

    Raises:
        InputError: The folder cannot be written to.
    """

    def __init__(self, folder: Path, stale: float = STALE) -> None:
        self._folder = folder
        self._stale = stale
        self._clock = folder / f".clock-{uuid.uuid4().hex[:8]}"
        check_inside(folder.parent, folder)
        self._future: dict[Path, tuple[float, float]] = {}
        """Heartbeats of the future, and when each was first read."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._now()
        except OSError as error:
            raise InputError(
                f"{folder} cannot be written to: {error.strerror}; a study needs a folder that its "
                "workers may write to"
            ) from error

    def take(self, run: str) -> Claim | None:
        """Claims a run; returns None if another worker holds it."""
        generation = _latest(self._folder, run)
        if generation is not None and not self._is_abandoned(self._folder / f"{run}.{generation}"):
            return None
        path = self._folder / f"{run}.{0 if generation is None else generation + 1}"
        owner = {"machine": machine(), "process": os.getpid(), "began": _began()}
        text = json.dumps({**owner, "token": uuid.uuid4().hex})
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            return None
        return Claim(path, text)

    def current(self) -> set[str]:
        """Runs currently claimed by any worker."""
        claimed = set()
        for run in {_parts(path)[0] for path in _files(self._folder)}:
            generation = _latest(self._folder, run)
            path = self._folder / f"{run}.{generation}"
            if generation is not None and not self._is_abandoned(path):
                claimed.add(run)
        return claimed

    def close(self) -> None:
        """Removes the file used to read the clock of the file system."""
        self._clock.unlink(missing_ok=True)

    def _is_abandoned(self, path: Path) -> bool:
        try:
            changed = path.stat().st_mtime
            owner = read_json(path, "")
        except FileNotFoundError:  # released meanwhile
            return True
        except InputError:  # still being written, truncated, or released meanwhile
            owner = {}
        if owner.get("machine") == machine() and _has_ended(owner):
            return True
        if (age := self._now() - changed) >= -self._stale:
            return age > self._stale
        # the clock was set back: only a heartbeat from now on shows that the worker is alive
        first, since = self._future.get(path, (None, 0.0))
        if first != changed:
            self._future[path] = (changed, since := time.monotonic())
        return time.monotonic() - since > self._stale

    def _now(self) -> float:
        """Current time by the clock of the file system."""
        self._clock.touch()
        os.utime(self._clock)
        return self._clock.stat().st_mtime


def machine() -> str:
    """Identifier of the scope of process IDs: this machine since its boot, or a container."""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def _has_ended(owner: dict[str, object]) -> bool:
    """Whether a process of this machine has ended, even if its process ID was reused."""
    process = owner.get("process")
    return isinstance(process, int) and _began(process) != owner.get("began")


def _began(process: int | None = None) -> str:
    """Start time of a process in clock ticks; empty if unknown."""
    with suppress(OSError, IndexError):
        text = Path(f"/proc/{process or os.getpid()}/stat").read_text(encoding="utf-8")
        fields = text.rpartition(")")[2].split()
        if fields[0] not in ("Z", "X"):  # zombies have ended
            return fields[19]
    return ""


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if not path.name.startswith(".")]


def _parts(path: Path) -> tuple[str, int]:
    run, _, generation = path.name.rpartition(".")
    return run, int(generation) if re.fullmatch(r"[0-9]{1,9}", generation) else -1


def _claims(folder: Path, run: str) -> list[Path]:
    """The claims on a run."""
    parts = {path: _parts(path) for path in folder.glob(f"{run}.*")}
    return [path for path, (name, generation) in parts.items() if name == run and generation >= 0]


def _latest(folder: Path, run: str) -> int | None:
    """The highest generation of the claims on a run."""
    return max((_parts(path)[1] for path in _claims(folder, run)), default=None)
