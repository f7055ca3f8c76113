"""Processes of a study's stages: how they end is reported, and they end with their worker."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dislab import cli
from dislab.cli import study_runs
from dislab.errors import BusyError, DivergenceError, InputError, TrainingError
from dislab.study.worker import Report, Task

FULL = OSError(errno.ENOSPC, "No space left on device")


def of_full_disk() -> InputError:
    error = InputError("x cannot be written")
    error.__cause__ = FULL
    return error


@pytest.fixture(autouse=True)
def _preloaded() -> None:
    study_runs.preload()


def task(folder: Path, *args: str) -> Task:
    return Task(args, folder, folder / "log", folder / "report.json")


ENDS = [
    (0, "done", ""),
    (2, "input", "ended with status 2"),
    (InputError("beta is wrong"), "input", "beta is wrong"),
    (BusyError("is being trained"), "busy", "is being trained"),
    (DivergenceError("kl became NaN"), "diverged", "kl became NaN"),
    (TrainingError("another one ended"), "crash", "another one ended"),
    (FULL, "full", "No space left"),
    (of_full_disk(), "full", "x cannot be written"),
    (MemoryError(), "memory", "MemoryError"),
    (RuntimeError("CUDA out of memory"), "memory", "CUDA out of memory"),
    (RuntimeError("a bug"), "exception", "a bug"),
    (KeyboardInterrupt("SIGTERM"), "interrupted", "SIGTERM"),
    (SystemExit(130), "interrupted", "the last line"),
    (SystemExit(2), "input", "the last line"),
]


def ended(end: int | BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """The report of a process whose command ends so."""

    def dispatch(command: str, args: list[str], folder: Path) -> int:
        print(f"the first line of {command} {args}")
        print("dislab: error: the last line", flush=True)
        if isinstance(end, int):
            return end
        raise end

    monkeypatch.setattr(cli, "dispatch", dispatch)
    process = study_runs.Process(task(tmp_path, "fit", "--a"))
    assert process.wait(100.0)
    return process.report()


@pytest.mark.every(4)
@pytest.mark.skipif(sys.platform != "linux", reason="the made-up command is known to forks only")
@pytest.mark.parametrize(("end", "outcome", "message"), ENDS)
def test_how_a_process_ends(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    end: int | BaseException,
    outcome: str,
    message: str,
) -> None:
    report = ended(end, tmp_path, monkeypatch)
    assert report.outcome == outcome
    assert message in report.message
    assert bool(report.traceback) is (outcome == "exception")
    assert "dislab" in report.versions or outcome == "input"
    log = (tmp_path / "log").read_text()
    assert log.startswith("the first line of fit ['--a']\n")
    assert not (tmp_path / "report.json").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the made-up command is known to forks only")
def test_a_process_that_is_killed_has_crashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    monkeypatch.setattr(cli, "dispatch", die)
    process = study_runs.Process(task(tmp_path, "fit"))
    assert process.wait(100.0)
    report = process.report()
    assert (report.outcome, report.message) == ("crash", "the process ended by signal 9")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the made-up command is known to forks only")
def test_a_process_ends_with_its_worker_whose_imports_ask_no_card(tmp_path: Path) -> None:
    """CUDA cannot be used in a fork of a process that has asked for cards."""
    code = (
        "import sys, time; from pathlib import Path; import torch\n"
        "def refuse(*_): raise AssertionError\n"
        "torch.cuda.is_available = torch.cuda.device_count = refuse\n"
        "from dislab import cli; from dislab.cli import study_runs\n"
        "study_runs.preload()\n"
        "assert not torch.cuda.is_initialized()\n"
        "from dislab.study.worker import Task\n"
        "here = Path(sys.argv[1])\n"
        "cli.dispatch = lambda *_: (here / 'at_work').touch() or time.sleep(100)\n"
        "task = Task(['fit'], here, here / 'log', here / 'report.json')\n"
        "process = study_runs.Process(task)\n"
        "print(process._process.pid, flush=True); time.sleep(100)"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None
    process = int(worker.stdout.readline())
    wait_until(lambda: (tmp_path / "at_work").exists())
    worker.kill()
    worker.communicate()
    wait_until(lambda: not Path(f"/proc/{process}").exists() or is_dead(process))


def is_dead(process: int) -> bool:
    """Whether a process has ended and nobody has waited for it."""
    return ") Z " in Path(f"/proc/{process}/stat").read_text()


def wait_until(true: object) -> None:
    for _ in range(600):
        if true():  # type: ignore[operator]
            return
        time.sleep(0.1)
    raise AssertionError
