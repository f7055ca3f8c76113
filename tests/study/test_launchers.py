"""Launchers and the processes that they start."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dislab.errors import InputError, TrainingError
from dislab.study.launchers import Processes, Ray, Workers, load_launcher
from dislab.study.launchers.processes import _environments
from dislab.study.launchers.slurm import script
from dislab.study.study_file import Resources


def workers(folder: Path, code: str = "", **more: object) -> Workers:
    settings: dict[str, object] = {
        "folder": folder,
        "command": (sys.executable, "-c", code),
        "count": 2,
        "resources": Resources(),
        "unfinished": 10,
        "tick": lambda: None,
    }
    return Workers(**{**settings, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["processes", "ray", "slurm"])
def test_every_launcher_is_declared(word: str) -> None:
    assert type(load_launcher(word)).__name__.lower() == word


def test_an_unknown_launcher() -> None:
    with pytest.raises(InputError, match=r"no launcher is named 'slrum' \(did you mean slurm\?\)"):
        load_launcher("slrum")


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("pass", None),
        ("import sys; print('dislab: error: no room', file=sys.stderr); sys.exit(2)", InputError),
        ("import sys; print('dislab: stopped', file=sys.stderr); sys.exit(1)", TrainingError),
    ],
)
def test_how_workers_end(tmp_path: Path, code: str, error: type[Exception] | None) -> None:
    if error is None:
        assert Processes().launch(workers(tmp_path, code))
        return
    with pytest.raises(error, match=r"^(no room|stopped)$"):
        Processes().launch(workers(tmp_path, code))


@pytest.mark.slow
def test_a_worker_that_is_killed_is_started_again(tmp_path: Path) -> None:
    code = (
        "import os, signal; from pathlib import Path\n"
        f"here = Path({str(tmp_path)!r})\n"
        "first = not (here / 'seen').exists(); (here / 'seen').touch()\n"
        "if first: os.kill(os.getpid(), signal.SIGKILL)\n"
        "(here / 'ended').touch()"
    )
    assert Processes().launch(workers(tmp_path, code, count=1))
    assert (tmp_path / "ended").exists()


def test_an_interrupt_reaches_the_workers(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time; from pathlib import Path\n"
        f"here = Path({str(tmp_path)!r})\n"
        "def end(*_): (here / 'ended').touch(); sys.exit(130)\n"
        "signal.signal(signal.SIGTERM, end); (here / 'ready').touch()\n"
        "time.sleep(60)"
    )

    def interrupt() -> None:
        if (tmp_path / "ready").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Processes().launch(workers(tmp_path, code, count=1, tick=interrupt))
    assert (tmp_path / "ended").exists()


@pytest.mark.parametrize(
    ("visible", "gpus", "count", "unfinished", "expected"),
    [
        ("0,1", 1.0, None, 9, ["0", "1"]),
        ("0,1", 1.0, None, 1, ["0"]),
        ("0,1", 1.0, 1, 9, ["0"]),
        ("0,1,2,3", 2.0, None, 9, ["0,1", "2,3"]),
        ("0", 0.5, None, 9, ["0", "0"]),
        ("0", 0.0, 3, 9, ["", "", ""]),
    ],
)
def test_which_cards_a_worker_gets(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    visible: str,
    gpus: float,
    count: int | None,
    unfinished: int,
    expected: list[str],
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    asked = workers(tmp_path, resources=Resources(1, gpus), count=count, unfinished=unfinished)
    assert [one["CUDA_VISIBLE_DEVICES"] for one in _environments(asked)] == expected


def test_too_few_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with pytest.raises(InputError, match=r"resources.gpus is 2, and this machine has 1 cards"):
        _environments(workers(tmp_path, resources=Resources(1, 2.0)))


def test_the_script_for_slurm(tmp_path: Path) -> None:
    folder = tmp_path / "my study"
    command = ("python", "-m", "dislab", "study", "work", str(folder))
    asked = workers(folder, command=command, count=20, unfinished=12, resources=Resources(4, 0.5))
    text = script(asked)
    lines = text.splitlines()
    assert lines[0] == "#!/bin/bash"
    for line in (
        "#SBATCH --array=1-12",
        "#SBATCH --cpus-per-task=4",
        "#SBATCH --gpus-per-task=1",
        "#SBATCH --no-requeue",
        "#SBATCH --signal=B:TERM@300",
    ):
        assert line in lines
    assert f"python -m dislab study work '{folder}' --leave &" in lines
    assert "--gpus" not in script(workers(folder, command=command))


def test_the_script_passes_a_signal_on_and_waits(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time; from pathlib import Path\n"
        f"here = Path({str(tmp_path)!r})\n"
        "def end(*_): time.sleep(0.3); (here / 'saved').touch(); sys.exit(130)\n"
        "signal.signal(signal.SIGTERM, end); (here / 'ready').touch()\n"
        "time.sleep(60)"
    )
    text = script(workers(tmp_path, code))
    job = subprocess.Popen(["bash", "-c", text], start_new_session=True)
    for _ in range(600):
        if (tmp_path / "ready").exists():
            break
        time.sleep(0.05)
    os.kill(job.pid, signal.SIGTERM)
    job.wait(timeout=30)
    assert (tmp_path / "saved").exists()


@pytest.mark.slow
def test_ray_passes_an_interrupt_on_and_waits(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time; from pathlib import Path\n"
        f"here = Path({str(tmp_path)!r})\n"
        "def end(*_): time.sleep(1); (here / 'saved').touch(); sys.exit(130)\n"
        "signal.signal(signal.SIGTERM, end); (here / 'ready').touch()\n"
        "time.sleep(100)"
    )

    def interrupt() -> None:
        if (tmp_path / "ready").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Ray().launch(workers(tmp_path, code, count=1, tick=interrupt))
    assert (tmp_path / "saved").exists()


@pytest.mark.slow
def test_ray_says_why_a_worker_stopped(tmp_path: Path) -> None:
    code = "import sys; print('dislab: error: no room', file=sys.stderr); sys.exit(2)"
    with pytest.raises(InputError, match=r"^no room$"):
        Ray().launch(workers(tmp_path, code))


@pytest.mark.slow
def test_ray_that_ends_is_one_message(tmp_path: Path) -> None:
    import ray

    def die() -> None:
        raise ray.exceptions.LocalRayletDiedError

    with pytest.raises(TrainingError, match=r"^Ray has ended \(.*run the same command again$"):
        Ray().launch(workers(tmp_path, "import time; time.sleep(100)", tick=die))
