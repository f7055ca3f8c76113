"""Workers as processes of this machine."""

import math
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, final

from dislab.errors import InputError, TrainingError
from dislab.storage import check_inside
from dislab.study.launchers.base import Launcher, Workers
from dislab.study.results import last_message

_TICK: Final = 0.5
_SHORT: Final = 10.0
"""A worker killed within this many seconds of its start counts as a short life."""
_MOST_SHORT: Final = 20
"""Number of short lives after which workers are no longer restarted."""


class _Worker(NamedTuple):
    process: "subprocess.Popen[bytes]"
    log: Path
    environment: Mapping[str, str]
    began: float


@final
class Processes(Launcher):
    """Starts workers on this machine, as many as its cores or graphics cards allow.

    Restarts workers that are killed.
    """

    def launch(self, workers: Workers) -> bool:
        """Starts the workers and waits for them."""
        logs = workers.folder / "workers"
        logs.mkdir(parents=True, exist_ok=True)
        short = 0
        running = [
            _start(workers, logs / f"{index}.txt", environment)
            for index, environment in enumerate(_environments(workers))
        ]
        failures: list[_Worker] = []
        try:
            while running:
                time.sleep(_TICK)
                workers.tick()
                for worker in list(running):
                    if (status := worker.process.poll()) is None:
                        continue
                    running.remove(worker)
                    short += time.monotonic() - worker.began < _SHORT
                    if status < 0 and short <= _MOST_SHORT:
                        running.append(_start(workers, worker.log, worker.environment))
                    elif status:
                        failures.append(worker)
        except BaseException:
            _stop(running)
            raise
        if failures:
            _explain(failures[0])
        return True


def _environments(workers: Workers) -> list[dict[str, str]]:
    """Environment variables of each worker, which select its graphics cards, if any."""
    resources = workers.resources
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    count = workers.count or max(1, (cores or 1) // resources.cpus)
    if not resources.gpus:
        return [{"CUDA_VISIBLE_DEVICES": ""}] * min(count, max(workers.unfinished, 1))
    cards = _cards()
    size = math.ceil(resources.gpus)
    sharing = int(1 / resources.gpus) if resources.gpus < 1 else 1
    shares = [cards[n : n + size] for n in range(0, len(cards) - size + 1, size)] * sharing
    if not shares:
        raise InputError(
            f"resources.gpus is {resources.gpus:g}, and this machine has {len(cards)} cards that "
            "can be used; set gpus: 0 in the study file to use the processor"
        )
    count = min(workers.count or len(shares), len(shares), max(workers.unfinished, 1))
    return [{"CUDA_VISIBLE_DEVICES": ",".join(cards)} for cards in shares[:count]]


def _cards() -> list[str]:
    """The graphics cards that this process may use."""
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [card for card in visible.split(",") if card]
    import torch

    return [str(index) for index in range(torch.cuda.device_count())]


def _start(workers: Workers, log: Path, environment: Mapping[str, str]) -> _Worker:
    check_inside(workers.folder, log)
    with log.open("ab") as out:
        process = subprocess.Popen(
            [*workers.command, "--attached"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**os.environ, **environment},
            start_new_session=True,  # Ctrl-C reaches only the launcher, which signals workers once
        )
    return _Worker(process, log, environment, time.monotonic())


def _stop(running: list[_Worker]) -> None:
    """Asks workers to end and waits for them; a second interrupt kills them."""
    try:
        for worker in running:
            worker.process.send_signal(signal.SIGTERM)
        for worker in running:
            worker.process.wait()
    except BaseException:
        for worker in running:
            worker.process.kill()
        raise


def _explain(worker: _Worker) -> None:
    """Raises the error of a failed worker, with the last line of its log."""
    message = last_message(worker.log.read_text(encoding="utf-8", errors="replace"))
    if worker.process.returncode == 1:
        raise TrainingError(message)
    raise InputError(message or f"a worker has ended with status {worker.process.returncode}")
