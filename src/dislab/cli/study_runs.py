"""The runs of a study: the process of a stage, and settings as `dislab fit` would parse them."""

import gc
import importlib
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from jsonargparse import Namespace
from lightning.pytorch import Trainer
from lightning.pytorch.cli import ArgsType, LightningArgumentParser

from dislab import plugins
from dislab.cli.checks import check_epoch, check_optimizer, paths_outside
from dislab.cli.messages import built
from dislab.cli.run_settings import CALLBACKS
from dislab.cli.training_cli import TrainingCLI, check_settings
from dislab.cli.yaml_input import check_configurations
from dislab.errors import (
    BusyError,
    DivergenceError,
    InputError,
    TrainingError,
    cannot_write,
    lacks_memory,
    one_line,
)
from dislab.functional.runtime import check_precision
from dislab.metrics.evaluation import built as built_metric
from dislab.naming.parsed import confine_names
from dislab.signals import interrupting
from dislab.storage import atomic, read_json, record_of
from dislab.study.identity import training_of, without_defaults
from dislab.study.resolving import Resolved, Resolver
from dislab.study.results import last_message
from dislab.study.worker import Outcome, Report, Task
from dislab.transfer.run import check_predictors
from dislab.yaml_files import parse_yaml, read_values_strictly

_WATCH: Final = 0.5
"""Interval between checks that the worker is alive, in seconds."""
_CONTEXT: Final[Any] = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
"""Forks start with everything imported; outside Linux, libraries do not survive a fork."""


class Process:
    """A running stage, which logs to the file of its task."""

    def __init__(self, task: Task) -> None:
        self._task = task
        task.report.unlink(missing_ok=True)
        self._process = _CONTEXT.Process(target=_main, args=(task, os.getpid()))
        self._process.start()

    def wait(self, seconds: float) -> bool:
        """Waits up to `seconds`; returns whether the process has ended."""
        self._process.join(seconds)
        return self._process.exitcode is not None

    def interrupt(self) -> None:
        """Asks the process to save its state and to end."""
        self._process.terminate()

    def kill(self) -> None:
        """Kills the process."""
        self._process.kill()
        self._process.join()

    def report(self) -> Report:
        """Outcome of its task."""
        path = self._task.report
        try:
            report = record_of(Report, read_json(path, ""), str(path))
            path.unlink()
            return report
        except (OSError, InputError):
            code = self._process.exitcode
            how = f"by signal {-code}" if code and code < 0 else f"with status {code}"
            return Report("crash", f"the process ended {how}")


def preload() -> None:
    """Imports the modules that stages need, once for all processes forked later."""
    if _CONTEXT.get_start_method() != "fork":
        return
    from dislab import plugins
    from dislab.cli import training  # noqa: F401

    with warnings.catch_warnings(action="ignore"):  # warnings go into the log of each run
        plugins.load_all()
    importlib.import_module("torch.utils.tensorboard")  # the usual logger imports it late
    gc.freeze()  # garbage collection would write to pages that processes could share


def _main(task: Task, worker: int) -> None:
    """Runs a task in a separate process, which ends with its worker."""
    os.setsid()
    _redirect(task.log)
    threading.Thread(target=_end_with, args=(worker,), daemon=True).start()
    report = _done(task)
    with atomic(task.report) as temporary:
        temporary.write_text(json.dumps(report._asdict()), encoding="utf-8")
    sys.stdout.flush()
    sys.stderr.flush()


def _done(task: Task) -> Report:
    """Runs the command of a task; returns its outcome."""
    try:
        with interrupting():
            from dislab.cli import dispatch

            command, *arguments = task.arguments
            status = dispatch(command, arguments, task.run)
            if status:
                return Report("input", f"dislab {command} ended with status {status}")
            return Report("done", versions=_versions())
    except BaseException as error:  # an error that does not end the process becomes its report
        return _of_error(error, task.log)


def _of_error(error: BaseException, log: Path) -> Report:
    """The report of a task that ended with an error."""
    message = one_line(error)
    if isinstance(error, SystemExit):  # the reason was printed before
        sys.stderr.flush()
        text = log.read_text(encoding="utf-8", errors="replace")
        return Report(_kind(error), last_message(text), versions=_versions())
    print(f"dislab: {type(error).__name__}: {message}", file=sys.stderr)
    return Report(_kind(error), message or type(error).__name__, _trace(error), _versions())


def _kind(error: BaseException) -> Outcome:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, SystemExit):
        return "input" if error.code == 2 else "interrupted"
    if isinstance(error, DivergenceError):
        return "diverged"
    if isinstance(error, TrainingError):  # another process of the run has ended
        return "crash"
    if isinstance(error, BusyError):
        return "busy"
    if lacks_memory(error):
        return "memory"
    if cannot_write(error) or cannot_write(error.__cause__):
        return "full"
    return "input" if isinstance(error, InputError) else "exception"


def _trace(error: BaseException) -> str:
    """The traceback of a bug."""
    return "".join(traceback.format_exception(error)) if _kind(error) == "exception" else ""


def _versions() -> dict[str, str]:
    from dislab.runs import versions

    return versions()


def _redirect(log: Path) -> None:
    """Redirects all output of this process to a file, including output of C libraries."""
    log.parent.mkdir(parents=True, exist_ok=True)
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, source in ((0, nothing), (1, target), (2, target)):
        os.dup2(source, descriptor)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)


def _end_with(worker: int) -> None:
    """Ends this process when its worker has ended, so that two processes never train one run."""
    while os.getppid() == worker:
        time.sleep(_WATCH)
    os.kill(os.getpid(), signal.SIGKILL)


_SCORED: Final = ("evaluate", "transfer", "generalisation")
"""Sections with the settings of stages of a study."""


class _Settings(TrainingCLI):
    """The parser of `dislab fit`, without running the command."""

    def __init__(self, builds: bool) -> None:
        self._builds = builds
        super().__init__("fit", [], ExitStack())

    def parse_arguments(self, parser: LightningArgumentParser, args: ArgsType) -> None:
        """Does nothing: `resolve` parses the arguments."""
        self.config = {"seed_everything": False}

    def before_instantiate_classes(self) -> None:
        """Does nothing."""

    def instantiate_classes(self) -> None:
        """Instantiates nothing."""

    def resolve(self, args: Sequence[str]) -> Resolved:
        """Parses arguments of `dislab fit` into settings."""
        check_configurations(args)
        parsed = self.parser.parse_args(list(args))
        for name in ("ckpt_path", "resume", "run"):
            if parsed[name] is not None:
                raise InputError(
                    f"{name} is {parsed[name]}; the runs of a study start by themselves"
                )
        if parsed["trainer"]["fast_dev_run"]:
            raise InputError("trainer.fast_dev_run keeps no run; leave it out of a study")
        for name in ("devices", "num_nodes"):
            count = parsed["trainer"][name]
            if count not in (1, "1", "auto") and not (isinstance(count, list) and len(count) == 1):
                raise InputError(
                    f"trainer.{name} is {count}, and each run of a study trains in one process; "
                    "several runs train at a time by --workers, and one model on several devices "
                    "by dislab fit"
                )
        check_settings(parsed)
        for name, value in paths_outside(parsed, None):
            raise InputError(
                f"{name} is {value!r}; the runs of a study write into their folders only, so leave "
                "it out"
            )
        text = self.parser.dump(parsed, skip_none=False)
        config = cast("dict[str, Any]", parse_yaml(text, "the configuration"))
        parts = self._build(parsed, config) if self._builds else None
        return Resolved(
            config=config,
            training=training_of(config, Trainer),
            sections={name: without_defaults(config[name], CALLBACKS[name]) for name in _SCORED},
            scores=None
            if parts is None
            else partial(parts["evaluate"].names, parts["model"], parts["data"].factors),
        )

    def _build(self, parsed: Namespace, config: dict[str, Any]) -> Namespace:
        """Builds all parts of a run, scores and predictors included, which check their settings."""
        self.config_dump = config  # the settings that a model keeps
        parts: Namespace = built(lambda: self.parser.instantiate_classes(parsed), self.parser)
        built(lambda: _build_scores(parts))
        check_optimizer(parts["model"])
        check_precision(parts["trainer"]["precision"])
        check_epoch(parts["trainer"].as_dict(), parts["data"])
        return parts


def _build_scores(parts: Namespace) -> None:
    """Builds the scores and predictors of a run, as its callbacks will."""
    if not parts["model"].has_codes:
        return
    space = parts["data"].factors
    curves = parts["score_curves"].metrics if parts["score_curves"].steps else {}
    for metric in [*parts["evaluate"].metrics.values(), *curves.values()]:
        built_metric(metric, space)
    check_predictors(parts["transfer"].predictors)


def resolver(builds: bool = False) -> Resolver:
    """Creates the parser of a study's configurations.

    Args:
        builds: Whether to build the parts of each run, so that they check their settings.
    """
    read_values_strictly()
    plugins.load_all()
    confine_names()
    return _Settings(builds).resolve
