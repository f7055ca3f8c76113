"""Streams of the command, and what a call from Python leaves behind."""

import logging
import os
import pty
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import jsonargparse
import pytest
from jsonargparse import _common
from lightning.pytorch.utilities import rank_zero_info
from tests.study.conftest import TINY

from dislab.cli import main
from dislab.cli.messages import warnings_in_one_line
from dislab.cli.process import LOGGERS, hide_lightnings_notes
from dislab.errors import InputError, TrainingError

SHORT = (
    *("--trainer.max_steps=2", "--evaluate.metrics=null", "--then_test=false"),
    "--pictures=true",
)


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
    assert main(args) == (2 if "--config=missing.yaml" in args else 0)
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
    short = "--pictures=true --trainer.max_steps=2 --evaluate.points=100 --evaluate.bound_points=20"
    done = shell(f"{COMMAND} fit --config base.yaml {short} {end}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "runs/run/version_0/report.html").is_file()


@pytest.mark.parametrize("end", ["| head -c 1 > /dev/null", ">&-", "2>&-"])
def test_a_listing_ends_without_readers(end: str, tmp_path: Path) -> None:
    done = shell(f"{COMMAND} data list {end}", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_characters_that_the_terminal_lacks_are_escaped(tmp_path: Path) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = shell(f"{COMMAND} data list", tmp_path, **ascii_only)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xd7" in done.stdout
    done = shell(f"{COMMAND} 'r\u00e9sultats'", tmp_path, **ascii_only)
    assert done.returncode == 2
    assert done.stderr.startswith("dislab: error: ")
    assert done.stderr.count("\n") == 1


HOSTILE = "a\x1b[2J\x07\x9b1m\rb\u202e"
ESCAPED = "a\\x1b[2J\\x07\\x9b1m\\rb\\u202e"


def raised(command: str, args: list[str]) -> int:
    raise {"input": InputError, "training": TrainingError, "warning": UserWarning}[args[0]](HOSTILE)


def warned(command: str, args: list[str]) -> int:
    with warnings_in_one_line():
        warnings.warn(HOSTILE, UserWarning, stacklevel=1)
    return 0


def noted(command: str, args: list[str]) -> int:
    hide_lightnings_notes()
    rank_zero_info("%s", HOSTILE)
    return 0


@pytest.mark.parametrize(
    ("dispatch", "word"),
    [(raised, "input"), (raised, "training"), (raised, "warning"), (warned, ""), (noted, "")],
)
def test_texts_of_others_do_not_control_the_terminal(
    dispatch: Callable[[str, list[str]], int],
    word: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("dislab.cli.dispatch", dispatch)
    caplog.set_level(logging.INFO)
    main(["command", word])
    text = capsys.readouterr().err + caplog.text
    assert ESCAPED.replace("\\r", " " if word == "warning" or dispatch is warned else "\\r") in text
    assert HOSTILE[1] not in text


def test_tables_do_not_control_the_terminal(tmp_path: Path) -> None:
    code = f"from dislab.cli.process import keep_streams_open as k; k(); print({HOSTILE!r})"
    (tmp_path / "code.py").write_text(f"{code}\nprint('a\\tb')")
    reader, terminal = pty.openpty()
    subprocess.run([sys.executable, "code.py"], stdout=terminal, cwd=tmp_path, check=True)
    assert os.read(reader, 1000).decode().split() == [ESCAPED, "a", "b"]
    subprocess.run(f"{sys.executable} code.py > file", shell=True, cwd=tmp_path, check=True)
    assert (tmp_path / "file").read_bytes().decode() == f"{HOSTILE}\na\tb\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_line_is_in_the_file_before_the_process_ends(stream: str, tmp_path: Path) -> None:
    code = (
        "import os, sys; from dislab.cli.process import keep_streams_open as k; k(); "
        f"print('3 of 96 runs', file=sys.{stream}); os._exit(0)"  # as if it were killed
    )
    (tmp_path / "code.py").write_text(code)
    subprocess.run(f"{sys.executable} code.py > log 2>&1", shell=True, cwd=tmp_path, check=True)
    assert (tmp_path / "log").read_text() == "3 of 96 runs\n"


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
