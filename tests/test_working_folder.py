"""No process that dislab starts executes a file of the working folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.cli.test_output import SMALL
from tests.processes import Started

from dislab.cli import main

CONSOLE = [str(Path(sys.executable).with_name("dislab"))]
MODULE = [sys.executable, "-m", "dislab"]
BEFORE = {"warnings", "importlib", "keyword", "operator", "reprlib", "collections", "types"} | {
    *("functools", "contextlib", "runpy", "encodings", "io", "abc", "site", "codecs", "os"),
}
"""Modules that `python -m` imports before it looks at the package."""
OTHERS = (
    "torch",
    "numpy",
    "yaml",
    "lightning",
    "jsonargparse",
    "filelock",
    "tqdm",
    "sitecustomize",
)
TRAP = "open({trace!r}, 'a').write(__name__ + '\\n')\nraise ImportError('a file of the user')\n"
FIT = ("fit", "--config=small.yaml")
DDP = ("--trainer.devices=2", "--trainer.strategy=ddp")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with a configuration, a study, and files named like modules."""
    here = tmp_path / "working"
    here.mkdir()
    for name in {*sys.stdlib_module_names, *OTHERS} - BEFORE:
        (here / f"{name}.py").write_text(TRAP.format(trace=str(tmp_path / "trace")))
    (here / "small.yaml").write_text(yaml.safe_dump(SMALL))
    study = {"base": ["small.yaml"], "stages": {"train": {}}}
    (here / "study.yaml").write_text(yaml.safe_dump(study))
    return here


def check(folder: Path, command: list[str], status: int = 0) -> str:
    """Runs a command in the folder; nothing that lies there was executed."""
    environment = {name: one for name, one in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    trace = folder.parent / "trace"
    assert not trace.exists(), trace.read_text()
    assert done.returncode == status, done.stderr
    return done.stdout


@pytest.mark.parametrize("start", [CONSOLE, MODULE], ids=["console", "module"])
def test_the_command_ignores_files_of_the_working_folder(folder: Path, start: list[str]) -> None:
    check(folder, [*start, "configs", "list"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "args"),
    [
        (CONSOLE, (*FIT, *DDP, "--data.num_workers=1")),
        (MODULE, (*FIT, *DDP, "--data.num_workers=1")),
        (CONSOLE, ("study", "run", "study.yaml", "--workers=1")),
        (MODULE, ("study", "run", "study.yaml", "--launcher=ray", "--workers=1")),
    ],
    ids=["ddp-console", "ddp-module", "study", "ray"],
)
def test_its_processes_ignore_them(folder: Path, start: list[str], args: tuple[str, ...]) -> None:
    """Further processes of a run start as the first did, and workers of a study always alike."""
    if "--launcher=ray" in args:
        pytest.importorskip("ray")
    check(folder, [*start, *args])
    assert list(folder.rglob("last.ckpt"))


@pytest.mark.slow
def test_the_script_for_slurm_starts_safe_workers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert main(["study", "run", "study.yaml", "--launcher=slurm"]) == 0
    assert " -P -m dislab study work " in capsys.readouterr().out


def path_of_another_interpreter() -> int:
    """Prints the import path of a Python process that the command starts."""
    sys.argv = ["dislab", "--version"]
    main()
    sys.stdout.flush()  # before the output of the other process
    shown = [sys.executable, "-c", "import sys; print(sys.path)"]
    return subprocess.run(shown, check=False).returncode


@pytest.mark.slow
def test_any_python_process_of_the_command_keeps_the_users_import_path(tmp_path: Path) -> None:
    process = Started(
        tmp_path, path_of_another_interpreter, environment={"PYTHONPATH": "/theirs"}, apart=True
    )
    said, _ = process.communicate()
    path = said.splitlines()[-1]
    assert "'/theirs'" in path
    assert "''" not in path
    assert str(tmp_path) not in path


def nothing() -> int:
    """A function for a separate process."""
    return 0


@pytest.mark.slow
def test_helpers_of_tests_ignore_them(folder: Path) -> None:
    code = (
        f"import sys; sys.path.append({str(Path(__file__).parents[1])!r})\n"
        "from pathlib import Path; from tests import processes\n"
        "processes._CONTEXT.set_forkserver_preload([])\n"  # whose imports take long
        "from tests.test_working_folder import nothing\n"
        "if __name__ == '__main__': sys.exit(processes.Started(Path.cwd(), nothing).wait())"
    )
    check(folder, [sys.executable, "-P", "-c", code])
