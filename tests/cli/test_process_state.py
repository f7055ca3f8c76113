"""Streams of the command, and what a call from Python leaves behind."""

import logging
import os
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from pathlib import Path

import jsonargparse
import pytest
from jsonargparse import _common
from tests.study.conftest import TINY

from dislab.cli import main
from dislab.cli.quiet import LOGGERS

SHORT = ("--trainer.max_steps=2", "--evaluate.metrics=null", "--then_test=false")


def state() -> list[object]:
    return [
        list(warnings.filters),
        dict(os.environ),
        threading.excepthook,
        jsonargparse.get_loader("yaml"),
        dict(_common.parsing_settings),
        [list(logging.getLogger(name).filters) for name in LOGGERS],
    ]


@pytest.mark.parametrize(
    "args",
    [
        ["fit", "--config=base.yaml", *SHORT],
        ["fit", "--config=missing.yaml"],
        ["data", "prepare", "GaussianBlob"],
        ["study", "plan", "mine.yaml"],
    ],
)
def test_a_call_from_python_leaves_the_process_as_it_was(
    args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("base.yaml").write_text(TINY)
    Path("mine.yaml").write_text("name: mine\nbase: base.yaml\naxes: {model.latent_dim: [2]}\n")
    before = state()
    with suppress(SystemExit):  # as the parser ends for a missing file
        assert main(args) == 0
    assert state() == before


COMMAND = f"{sys.executable} -P -m dislab"


def shell(line: str, folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=300,
    )


@pytest.mark.slow
@pytest.mark.parametrize("end", ["| head -c 1 > /dev/null", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_run_ends_without_readers(end: str, tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(TINY)
    short = "--trainer.max_steps=2 --evaluate.points=100 --evaluate.bound_points=20"
    done = shell(f"{COMMAND} fit --config base.yaml {short} {end}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "runs/run/version_0/report.html").is_file()


@pytest.mark.parametrize("end", ["| head -c 1 > /dev/null", ">&-", "2>&-"])
def test_a_listing_ends_without_readers(end: str, tmp_path: Path) -> None:
    done = shell(f"{COMMAND} data list {end}", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_characters_that_the_terminal_lacks_are_escaped(tmp_path: Path) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = shell(f"{COMMAND} data list", tmp_path, **ascii_only)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xd7" in done.stdout
    done = shell(f"{COMMAND} compare 'r\u00e9sultats'", tmp_path, **ascii_only)
    assert done.returncode == 2
    assert done.stderr.startswith("dislab: error: ")
    assert done.stderr.count("\n") == 1


def test_warnings_as_errors_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def warned(command: str, args: list[str]) -> int:
        raise DeprecationWarning("old\nthing")

    monkeypatch.setattr("dislab.cli.dispatch", warned)
    assert main(["data", "list"]) == 2
    said = capsys.readouterr().err
    assert "treat this warning as an error: old thing; leave out -W error" in said
    assert said.count("\n") == 1
