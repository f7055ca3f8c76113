"""Real processes that are asked to end while they score, or whose terminal is closed."""

import fcntl
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.processes import Started, start
from tests.small_runs import small_config

from dislab.cli import main

ROOT = Path(__file__).parents[2]
HEARTS = str(ROOT / "configs" / "scenarios" / "dsprites_hearts.yaml")
CONFIG = small_config("dsprites", "{name: long, seed_everything: 5, pictures: true}")
FOR_EVER = "--evaluate.untrained=1000"
MANY = [
    *("--predictors", "GradientBoosting", "RandomForest", "MLP"),
    *("--baselines", "untrained", "pixels", "pca"),
]
"""So much to predict that a fast machine is still at it when the signal comes."""
LIMIT = 600
"""Seconds until a test gives up waiting, of which a busy machine needs many."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
RUN = "runs/long/version_0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "long.yaml").write_text(CONFIG)
    return tmp_path


def start_afresh(folder: Path, *args: str, **settings: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} | settings
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "dislab", *args], cwd=folder, env=environment, text=True, **streams
    )


def wait_until(done: Callable[[], object], process: subprocess.Popen[str] | Started) -> None:
    limit = time.monotonic() + LIMIT
    while not done():
        assert process.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.05)


def work(process: subprocess.Popen[str] | Started, seconds: float) -> None:
    """Lets a process compute for some seconds of processor time, however busy the machine is."""
    end = processor_seconds(process.pid) + seconds
    wait_until(lambda: processor_seconds(process.pid) >= end, process)


def processor_seconds(process: int) -> int:
    command = ["ps", "-o", "time=", "-p", str(process)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    parts = re.split(r"[-:]", shown.partition(".")[0] or "0")
    units = (1, 60, 3600, 86400)
    return sum(int(part) * unit for part, unit in zip(reversed(parts), units, strict=False))


def contents(folder: Path) -> dict[Path, bytes]:
    """Every file of a run but its events and locks."""
    return {
        path: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "tfevents" not in path.name and path.suffix != ".lock"
    }


def scoring(folder: Path) -> bool:
    """Whether the losses of the test split are there, after which the scores are taken."""
    curves = folder / RUN / "metrics.csv"
    return curves.is_file() and "test/loss" in curves.read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "processes"), [(signal.SIGINT, 1), (signal.SIGHUP, 1), (signal.SIGTERM, 2)]
)
def test_scoring_after_training_ends_and_leaves_a_whole_run(
    order: signal.Signals, processes: int, folder: Path
) -> None:
    several = [f"--trainer.devices={processes}", "--trainer.strategy=ddp"] if processes > 1 else []
    process = start(folder, "fit", "--config=long.yaml", FOR_EVER, *several)
    wait_until(lambda: scoring(folder), process)
    work(process, 1)
    process.send_signal(order)
    output, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert "KeyboardInterrupt" not in output
    last = f"Stopped. Training is finished and saved; score it with: dislab test --run {RUN}"
    assert last in output.splitlines()
    assert not (folder / RUN / "scores.json").exists()
    assert not list((folder / RUN).rglob("*.tmp"))
    stored = torch.load(folder / RUN / "checkpoints/last.ckpt", weights_only=True)
    assert stored["global_step"] == 4
    again = start(folder, "test", "--run", RUN, "--evaluate.untrained=0")
    output, _ = again.communicate(timeout=LIMIT)
    assert again.returncode == 0, output
    assert (folder / RUN / "scores.json").is_file()


@pytest.mark.slow
def test_scoring_by_a_command_of_its_own_ends_and_says_what_to_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert main(["fit", "--config=long.yaml"]) == 0
    generator = np.random.default_rng(0)
    codes, factors = generator.normal(size=(2000, 3)), generator.integers(3, size=(2000, 2))
    np.savez(folder / "codes.npz", codes=codes, factors=factors)
    several = ["--trainer.devices=2", "--trainer.strategy=ddp"]
    commands = [
        ["test", f"--run={RUN}", FOR_EVER],
        ["validate", f"--run={RUN}", FOR_EVER, *several],
        ["score", "codes.npz", "--bootstrap", "1000000", "--json", "out.json"],
        ["transfer", RUN, "--scenarios", HEARTS, "--labels", "1000", *MANY],
    ]
    before = contents(folder)
    for command, order in zip(commands, cycle(SIGNALS), strict=False):
        process = start(folder, *command)
        work(process, 2)  # whenever it comes, the outcome is the same
        process.send_signal(order)
        output, _ = process.communicate(timeout=LIMIT)
        # an interrupt in an import ends Python by SIGINT itself, which a shell shows as 130 as well
        assert process.returncode in (130, -signal.SIGINT), output
        assert "Traceback" not in output
        again = f"dislab: interrupted; files are whole. Run again: dislab {' '.join(command)}"
        assert again in output.splitlines()
        assert contents(folder) == before


def in_terminal(folder: Path, *args: str) -> tuple[subprocess.Popen[str], int]:
    """Starts a command as the leader of a terminal, and returns the other end of that."""
    ours, theirs = pty.openpty()

    def lead() -> None:
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which the tests may run without, by nohup

    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    process = start_afresh(folder, *args, preexec_fn=lead, **streams)
    os.close(theirs)
    return process, ours


@pytest.mark.slow
def test_a_closed_terminal_ends_training_between_two_steps(folder: Path) -> None:
    process, terminal = in_terminal(
        folder,
        *("fit", "--config=long.yaml", "--trainer.max_steps=1000000"),
        "--checkpoint.every_n_train_steps=50",
    )
    last = folder / RUN / "checkpoints/last.ckpt"
    os.set_blocking(terminal, False)

    def saved() -> bool:
        try:
            while os.read(terminal, 65536):  # what nobody reads would stop the process
                pass
        except BlockingIOError:
            pass
        return last.is_file()

    wait_until(saved, process)
    os.close(terminal)
    assert process.wait(timeout=LIMIT) == 130
    steps = torch.load(last, weights_only=True)["global_step"]
    assert steps >= 50
    resumed = start(
        folder, "fit", f"--resume={RUN}", f"--trainer.max_steps={steps + 5}", "--evaluate.points=50"
    )
    output, _ = resumed.communicate(timeout=LIMIT)
    assert resumed.returncode == 0, output
    assert torch.load(last, weights_only=True)["global_step"] == steps + 5


@pytest.mark.slow
def test_a_run_under_nohup_goes_on(folder: Path) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process = start_afresh(
        folder,
        *("fit", "--config=long.yaml", "--trainer.max_steps=300"),
        "--checkpoint.every_n_train_steps=20",
        preexec_fn=ignore,
    )
    last = folder / RUN / "checkpoints/last.ckpt"
    wait_until(last.is_file, process)
    process.send_signal(signal.SIGHUP)
    output, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, output
    assert torch.load(last, weights_only=True)["global_step"] == 300
