"""Runs a training command: prepares the process, explains errors, prints the last lines."""

import shlex
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import torch.distributed as dist
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.callbacks import EarlyStopping

from dislab import plugins
from dislab.base.failures import parts_named
from dislab.callbacks import RunPage
from dislab.cli.process import hide_lightnings_notes
from dislab.cli.training_cli import TrainingCLI
from dislab.cli.training_options import of_run, with_run, written_elsewhere
from dislab.cli.yaml_input import check_configurations
from dislab.errors import InputError, TrainingError, cannot_write, one_line
from dislab.functional.runtime import lost_another
from dislab.naming.parsed import confine_names
from dislab.report import PAGE
from dislab.runs import SCORES, checkpoint_of
from dislab.training.checkpoints import arose_while_restoring
from dislab.yaml_files import read_values_strictly


def run(
    command: str, description: str, args: Sequence[str], folder: Path | None, section: str
) -> int:
    """Runs a command, in the run folder that a study has chosen, and returns the status.

    `section` is the section of the settings that `--help` asks for; empty for the common options.
    """
    args = with_run(args, command)
    check_configurations(args)
    with _prepared(), ExitStack() as resources:
        cli = TrainingCLI(
            command,
            of_run(args, resumes=command == "fit"),
            resources,
            folder,
            written_elsewhere(args),
            section,
            description=description,
        )
        cli.run()
        if command != "predict" and cli.trainer.is_global_zero and not cli.is_rehearsal():
            print(f"\n{_closing(cli)}")
    return 0


@contextmanager
def _prepared() -> Iterator[None]:
    """Settings of the process while it runs a training command."""
    read_values_strictly()
    plugins.load_all()
    confine_names()
    threading.excepthook = _thread_failed
    hide_lightnings_notes()
    with parts_named(), _explained():
        yield
    if dist.is_available() and dist.is_initialized():
        # otherwise its threads run until the process ends, and may abort it
        dist.destroy_process_group()


@contextmanager
def _explained() -> Iterator[None]:
    """Converts errors of libraries into messages that tell users how to fix them."""
    try:
        yield
    except (InputError, TrainingError):
        raise
    except MisconfigurationException as error:
        raise InputError(one_line(error)) from error
    except Exception as error:
        if isinstance(error, RuntimeError) and lost_another(error):
            raise TrainingError(
                f"process {dist.get_rank()} of {dist.get_world_size()} stopped, because another "
                "one ended; the output above shows its error, unless it was killed"
            ) from error
        if arose_while_restoring(error):
            raise InputError(
                f"the checkpoint does not fit the model and the trainer: {one_line(error)}"
            ) from error
        if isinstance(error, ValueError) and _is_of(error, "lightning."):
            raise InputError(one_line(error)) from error
        # a name that is logged less often than it is monitored
        if isinstance(error, RuntimeError) and _is_of(error, EarlyStopping.__module__):
            raise InputError(one_line(error)) from error
        raise


def _is_of(error: Exception, module: str) -> bool:
    """Whether a module itself raised the error, rather than code that it called."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__name__", "")).startswith(module)


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    """Prints the error of a thread, except a failed write, which TensorBoard raises again."""
    if not cannot_write(failed.exc_value):
        threading.__excepthook__(failed)


def _closing(cli: TrainingCLI) -> str:
    """Last lines of a command: locations of results, one per line, and useful next commands."""
    return "\n".join(f"{name:<9} {text}" for name, text in _rows(cli))


def _has_checkpoint(run: Path) -> bool:
    """Whether a run has weights, as after a step of training."""
    with suppress(InputError):
        return checkpoint_of(run).exists()
    return False


def _rows(cli: TrainingCLI) -> Iterator[tuple[str, str]]:
    folder = cli.run_folder.path
    run = shlex.quote(str(folder))
    yield "run", str(folder)
    yield from cli.outcome
    for name, file in (("scores", SCORES), ("pictures", "images"), ("log", "metrics.csv")):
        if (folder / file).exists():
            yield name, str(folder / file)
    callbacks = cli.trainer.callbacks  # type: ignore[attr-defined]  # set by name
    if any(isinstance(callback, RunPage) and callback.written for callback in callbacks):
        yield "page", f"{folder / PAGE} (open it in a browser)"
    if any(folder.glob("events.out.tfevents.*")):
        yield "curves", f"tensorboard --logdir {run}"
    if cli.outcome and _has_checkpoint(folder):
        commands = [f"dislab encode {run}   # its codes as arrays"] if cli.model.has_codes else []
        if cli.longer:
            commands.append(f"dislab fit --resume {run} {cli.longer}   # train longer")
        yield from zip(("next", ""), commands, strict=False)
