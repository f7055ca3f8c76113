"""Starts commands in separate processes for tests, without waiting for imports.

Each process is forked from one that has imported the command and every part but has run nothing.
Tests of imports or of a terminal start `python -m dislab` instead.
"""

import atexit
import multiprocessing
import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from unittest import mock

import dislab
from dislab.cli import main
from dislab.plugins import PARTS, available

_CONTEXT: Final[Any] = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "dislab.cli.training",
        "dislab.testing",
        "torch.utils.tensorboard",
        *sorted({part.value.partition(":")[0] for group in PARTS for part in available(group)}),
    ]
)


class Started:
    """Runs a function in a separate process; has the methods of `subprocess.Popen` that tests use.

    Args:
        folder: Working directory of the process.
        call: Module-level function that returns the exit status.
        arguments: Arguments of the function.
        environment: Environment variables in addition to those of this process.
        apart: Whether to return standard error separately from standard output.
    """

    def __init__(
        self,
        folder: Path,
        call: Callable[..., int],
        *arguments: object,
        environment: Mapping[str, str] | None = None,
        apart: bool = False,
    ) -> None:
        variables = {**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})}
        self._printed = Path(tempfile.mkdtemp(prefix="printed-"))
        files = [str(self._printed / name) for name in ("out", "err" if apart else "out")]
        task = (str(folder), variables, files, call, arguments)
        self._process = _CONTEXT.Process(target=_run, args=task)
        # multiprocessing's own processes import from the working folder otherwise
        with mock.patch.dict(os.environ, {"PYTHONSAFEPATH": "1"}):
            self._process.start()
        self.pid: int = self._process.pid
        atexit.register(self.kill)  # before multiprocessing waits for it

    @property
    def returncode(self) -> int | None:
        """Exit status, or the negative number of the signal that ended it; None while running."""
        code: int | None = self._process.exitcode
        return code

    def poll(self) -> int | None:
        """Exit status; None while it runs."""
        return self.returncode

    def wait(self, timeout: int = 300) -> int:
        """Waits for the process to end and returns its exit status.

        Raises:
            subprocess.TimeoutExpired: The process ran longer than `timeout` and was killed.
        """
        self._process.join(timeout)
        if self.returncode is None:
            self.kill()
            raise subprocess.TimeoutExpired("dislab", timeout, "".join(self.output()))
        return self.returncode

    def communicate(self, timeout: int = 300) -> tuple[str, str]:
        """Waits for the end; returns standard output, and standard error if it is separate."""
        self.wait(timeout)
        output = self.output()
        shutil.rmtree(self._printed, ignore_errors=True)
        return output

    def send_signal(self, order: signal.Signals) -> None:
        """Sends a signal."""
        os.kill(self.pid, order)

    def kill(self) -> None:
        """Kills the process."""
        if self.returncode is None:
            self._process.kill()
            self._process.join()

    def output(self) -> tuple[str, str]:
        """Standard output so far, and standard error if it is separate."""
        files = [self._printed / name for name in ("out", "err")]
        out, errors = (path.read_text(errors="replace") if path.is_file() else "" for path in files)
        return out, errors


def start(folder: Path, *args: str, **environment: str) -> Started:
    """Starts `dislab` in a folder, with additional environment variables."""
    return Started(folder, obey, list(args), environment=environment)


def obey(args: list[str]) -> int:
    """Runs the command in a process that can start further processes like itself."""
    sys.argv = [str(Path(dislab.__file__).with_name("__main__.py")), *args]
    return main()


def run_script(path: Path, args: list[str]) -> int:
    """Runs a script as `python path args` does."""
    sys.path.insert(0, str(path.parent))
    sys.argv = [str(path), *args]
    runpy.run_path(str(path), run_name="__main__")
    return 0


def ended(folder: Path, script: Path, *args: str, timeout: int = 300) -> tuple[int, str, str]:
    """Runs a script in a folder to its end; exit status, standard output, standard error."""
    process = Started(folder, run_script, script, list(args), apart=True)
    output, errors = process.communicate(timeout)
    return process.wait(), output, errors


def start_several(
    folder: Path, processes: int, call: Callable[..., int], *arguments: object
) -> list[Started]:
    """Starts a function in all processes of one run, as a cluster would start them.

    Args:
        folder: Working directory of the processes.
        processes: Number of processes; a single one forms no process group.
        call: Module-level function that returns the exit status.
        arguments: Arguments of the function.
    """
    if processes == 1:
        return [Started(folder, call, *arguments)]
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_ports(1)[0])}
    ranks = [{**common, "LOCAL_RANK": str(rank)} for rank in range(processes)]
    return [
        Started(folder, call, *arguments, environment=rank_environment)
        for rank_environment in ranks
    ]


def free_ports(count: int) -> list[int]:
    """Ports that no process listens on."""
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [server.getsockname()[1] for server in sockets]


def _run(
    folder: str,
    variables: Mapping[str, str],
    files: list[str],
    call: Callable[..., int],
    arguments: tuple[object, ...],
) -> None:
    import torch

    nothing = os.open(os.devnull, os.O_RDONLY)
    out, errors = (os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for file in files)
    for descriptor, source in ((0, nothing), (1, out), (2, errors)):
        os.dup2(source, descriptor)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    tempfile.tempdir = None  # let tempfile look it up again
    torch.set_num_threads(int(variables["OMP_NUM_THREADS"]))
    try:
        status = call(*arguments)
    except KeyboardInterrupt:  # end by the signal itself, as Python does
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    sys.exit(status)
