"""`dislab fit | validate | test | predict`: LightningCLI over the plugin groups."""

import logging
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NoReturn, cast

import torch
import torch.distributed as dist
from jsonargparse import Namespace
from lightning.fabric.plugins import CheckpointIO
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.cli import (
    ArgsType,
    LightningArgumentParser,
    LightningCLI,
)
from lightning.pytorch.loggers import Logger, TensorBoardLogger
from lightning.pytorch.utilities import rank_zero_info, rank_zero_only

from dislab import plugins
from dislab.base import DataModule, Objective
from dislab.base.failures import failure, parts_named
from dislab.callbacks import (
    Checkpoints,
    Evaluate,
    Generalisation,
    InnerSteps,
    Interpolations,
    Reconstructions,
    Representations,
    RunPage,
    Samples,
    StopOnSignal,
    TransferScores,
    Traversals,
)
from dislab.callbacks._trainer import RunFolder
from dislab.cli.allocator import keep_freed_memory
from dislab.cli.config_checks import check_configurations, read_values_strictly
from dislab.cli.configuration import (
    KeepConfig,
    changed,
    flat,
    header,
    of_run,
    written_elsewhere,
)
from dislab.cli.links import check_offers, link
from dislab.cli.messages import explain, own_warnings_in_one_line, warnings_in_one_line
from dislab.cli.names import check_names, confine_names
from dislab.cli.optimizers import check_optimizer
from dislab.cli.processes import lost_another
from dislab.cli.trainer_settings import KnownMonitor, check_epoch, check_trainer_settings
from dislab.errors import InputError, TrainingError, cannot_write
from dislab.functional.precision import check_precision
from dislab.runs import (
    CONFIG,
    LAST,
    CheckpointFiles,
    Curves,
    check_model_names,
    check_resumable,
    last_checkpoint,
    new_run,
    read_checkpoint,
    remove_unused,
    trained_alone,
)
from dislab.training.step_end import count_last_step
from dislab.yaml_files import parse_yaml

RUN_FOLDER: Final = "DISLAB_RUN_FOLDER"
"""Names the folder of a new run to the processes that a training process starts; a study names the
folders of its runs so."""

_RESTORING: Final = "lightning.pytorch.trainer.connectors.checkpoint_connector"

_INTERRUPTED: Final = 130
"""Exit status after Ctrl-C, SIGTERM or SIGHUP."""

_NOT_THE_USERS: Final = (
    "Experiment logs directory .* exists and is not empty",  # the run folder, which is new
    "Precision .* is not supported by the model summary",  # a size in MB, nothing else
    r"Found .* module\(s\) in eval mode",  # a frozen model inside another one
    "GPU available but not used",  # because the user asked for the CPU
    # float16's scaler skipped the first step
    r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`",
    "The dirpath has changed from",  # of a run that was moved, or is named from elsewhere
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",  # Lightning 2.6 beside torch 2.13
)
"""Warnings that a user of the command can do nothing about."""

_DEFAULTS: Final[dict[str, Any]] = {
    "checkpoint.save_last": True,
    "checkpoint.enable_version_counter": False,
    "checkpoint.save_top_k": 0,
    "checkpoint.every_n_train_steps": 1000,
    "evaluate.metrics": {
        "mig": {"class_path": "dislab.metrics.MIG"},
        "dci": {"class_path": "dislab.metrics.DCI"},
        "factor_vae": {"class_path": "dislab.metrics.FactorVAEScore"},
    },
}


class Parser(LightningArgumentParser):
    """A parser whose errors are one message without pages of usage."""

    origin = ""
    """What is to be known of the configuration files that are read."""

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Prints what was wrong, where, and what is allowed; exits with status 2."""
        if not self.exit_on_error:  # a parser inside a parser: the outer one knows the place
            super().error(message, ex)
        sys.stderr.write(f"dislab: error: {self.explained(message, ex)}\n")
        sys.exit(2)

    def explained(self, message: str, ex: Exception | None = None) -> str:
        """What was wrong, where, and what is allowed.

        Args:
            message: What jsonargparse says.
            ex: What it raised.
        """
        parser: LightningArgumentParser = getattr(ex, "subcommand_parser", None) or self
        hidden = ("help", "config", "print_config", "print_shtab", "subcommand")
        keys = [action.dest for action in parser._actions if action.dest not in hidden]
        return "; ".join(filter(None, (explain(message, keys), self.origin)))


class TrainingCLI(LightningCLI):
    """LightningCLI with dislab's links, callbacks and run folder."""

    held: ExitStack
    """Ends what a run holds, such as its lock, when the command ends; set before each command."""

    _asked: dict[str, Any] = {}  # noqa: RUF012  # replaced, never changed
    _changed: dict[str, Any] = {}  # noqa: RUF012  # replaced, never changed

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Adds the run's name and folder, the standing callbacks and the links between parts."""
        parser.add_argument("--name", type=str, default="run", help="name of the run's folder")
        parser.add_argument("--runs", type=str, default="runs", help="folder of all runs")
        parser.add_argument(
            "--run", type=str | None, default=None, help="folder of a run to score or encode"
        )
        parser.add_argument(
            "--resume", type=str | None, default=None, help="folder of a run to go on training"
        )
        parser.add_argument(
            "--keep_freed_memory",
            type=bool,
            default=True,
            help="on a CPU, keep freed memory in this process instead of returning it (faster)",
        )
        parser.add_argument(
            "--channels_last",
            type=bool | None,
            default=None,
            help="keep the channels of a pixel side by side in memory (unless set: on a CPU)",
        )
        parser.add_argument(
            "--report",
            type=bool,
            default=True,
            help="write the page of the run, report.html, when its scores have been taken",
        )
        parser.add_argument(
            "--then_test", type=bool, default=True, help="after training, do what test does"
        )
        parser.add_lightning_class_args(Checkpoints, "checkpoint")
        parser.add_lightning_class_args(Evaluate, "evaluate")
        parser.add_lightning_class_args(TransferScores, "transfer")
        parser.add_lightning_class_args(Generalisation, "generalisation")
        parser.add_lightning_class_args(Reconstructions, "reconstructions")
        parser.add_lightning_class_args(Traversals, "traversals")
        parser.add_lightning_class_args(Samples, "samples")
        parser.add_lightning_class_args(Interpolations, "interpolations")
        parser.add_lightning_class_args(Representations, "representations")
        parser.add_lightning_class_args(StopOnSignal, "stop_on_signal")
        parser.add_lightning_class_args(InnerSteps, "inner_steps")
        parser.set_defaults(_DEFAULTS)
        parser.dump_header = header()
        link(parser)

    def parse_arguments(self, parser: LightningArgumentParser, args: ArgsType) -> None:
        """Parses the arguments, which always come from this program's command line."""
        self.config = parser.parse_args(cast("list[str]", args))
        config = self.config[self.config.subcommand]
        wrong, right = ("run", "resume") if self.config.subcommand == "fit" else ("resume", "run")
        if config[wrong] is not None:
            raise InputError(f"dislab {self.config.subcommand} takes --{right}, not --{wrong}")
        if config[right] is not None and not any(
            one.partition("=")[0] == f"--{right}" for one in cast("list[str]", args)
        ):
            raise InputError(f"{right} is set in a configuration file; give --{right} instead")
        if config["resume"] is not None:
            file = str(Path(config["resume"], CONFIG))
            of_the_run = self.parser.parse_args([self.config.subcommand, f"--config={file}"])
            self._changed = changed(self._plain(of_the_run), self._plain(self.config))
        checkpoint = config.get("ckpt_path")
        if checkpoint in ("last", "best", "hpc"):
            raise InputError(
                f"ckpt_path {checkpoint!r} has no meaning in a new run folder, and training would "
                "start afresh; name a file, or go on with a run by --resume or --run"
            )
        if checkpoint:
            stored = read_checkpoint(checkpoint)
            check_model_names(checkpoint, stored)
            if self.config.subcommand == "fit":
                check_resumable(checkpoint, stored)
            self._asked = flat(config["model"])

    def before_instantiate_classes(self) -> None:
        """Settles what depends on the command, on other settings or on the machine."""
        config = self.config[self.subcommand]
        check_settings(config)
        self._check_against_checkpoint(flat(config["model"]))
        if config["weights_only"] is None:
            config["weights_only"] = True
        checkpoint = config["checkpoint"]
        if checkpoint["every_n_epochs"] or checkpoint["train_time_interval"]:
            checkpoint["every_n_train_steps"] = None  # the user's trigger replaces the default one
        if config["trainer"]["fast_dev_run"]:
            checkpoint["save_last"] = False  # which ModelCheckpoint does even in a rehearsal
        if self.subcommand == "predict":
            config["return_predictions"] = False
        if config["keep_freed_memory"] and self._on_cpu():
            keep_freed_memory()

    def instantiate_classes(self) -> None:
        """Builds data, model and trainer; a part that refuses its settings ends with a message."""
        try:
            super().instantiate_classes()
        except InputError:
            raise
        except Exception as error:  # a part may refuse its settings by any error
            message = failure(error, own=True)
            if message is None and isinstance(error, ValueError):
                message = explain(str(error))
            if message is None:
                raise
            raise InputError(message) from error
        for callback in self.trainer.callbacks:  # type: ignore[attr-defined]  # set by a connector
            if isinstance(callback, Evaluate):
                callback.asked = self._asks_for_scores()
        channels_last = self.config[self.subcommand]["channels_last"]
        if self._on_cpu() if channels_last is None else channels_last:
            # the layout of values in memory; their order in a checkpoint stays
            self.model.to(memory_format=torch.channels_last)

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """The trainer, and the run folder with its loggers once nothing refuses its settings."""
        config = self.config_init[self.subcommand]
        if self.subcommand == "fit":
            check_optimizer(cast("Objective", self.model))
        settings = config["trainer"]
        check_precision(settings.get("precision"))
        check_epoch(settings.as_dict(), self.datamodule)
        if settings.get("enable_progress_bar") is None:
            kwargs["enable_progress_bar"] = sys.stdout.isatty()
        given = _several(settings.get("plugins"))
        if not any(isinstance(one, CheckpointIO) for one in given):
            kwargs["plugins"] = [*given, CheckpointFiles()]
        if settings.get("fast_dev_run"):
            return super().instantiate_trainer(**kwargs)
        trainer = super().instantiate_trainer(**kwargs | {"logger": False})
        if monitor := self.config[self.subcommand]["checkpoint"]["monitor"]:
            trainer.callbacks.insert(0, KnownMonitor(monitor))  # type: ignore[attr-defined]
        self._keep_run(trainer, config)
        return trainer

    def _keep_run(self, trainer: Trainer, config: Any) -> None:
        """Gives a trainer the run folder, and all that is kept there a place in it."""
        folder = self._folder(config)
        self._run_folder = RunFolder(folder)
        first_step = 0
        if folder is not None and self.subcommand == "fit":
            self.held.enter_context(trained_alone(folder))
            if config["resume"] is None:
                self.held.push(self._remove_unused)
            else:
                stored = read_checkpoint(config["ckpt_path"])
                check_resumable(config["ckpt_path"], stored, trainer.fit_loop.state_dict())
                first_step = int(stored["global_step"])
        text = "" if config["resume"] or config["run"] else self._text()
        self._kept_config = KeepConfig(text, self._changed, first_step)
        trainer.callbacks[:0] = [self._run_folder, self._kept_config]  # type: ignore[attr-defined]
        if config["report"]:
            trainer.callbacks.append(RunPage())  # type: ignore[attr-defined]  # behind the scores
        if folder is None:  # the loggers of this process write nothing
            trainer.loggers = [Curves(Path(config["runs"], config["name"]))]
            return
        for callback in trainer.checkpoint_callbacks:
            if isinstance(callback, ModelCheckpoint) and callback.dirpath is None:
                callback.dirpath = str(folder / LAST.parent)
        curves = [] if config["run"] else [Curves(folder, first_step)]
        trainer.loggers = [*self._loggers(config, folder, first_step), *curves]

    def _loggers(self, config: Any, folder: Path, first_step: int) -> list[Logger]:
        """The loggers that were asked for; TensorBoard's unless others are."""
        asked = config["trainer"].get("logger")
        if asked is None or asked is True:
            purge = first_step if config["resume"] else None
            return [TensorBoardLogger(folder, name="", version="", purge_step=purge)]
        return _several(asked)

    def _remove_unused(self, kind: object, error: object, trace: object) -> None:
        """Removes the folder of a new run that was refused before its first step."""
        if error is not None and not self._run_folder.has_trained:
            remove_unused(self._run_folder.path)

    def _text(self) -> str:
        config = self.config[self.subcommand]
        text: str = self._parser(self.subcommand).dump(config, skip_none=False)
        return text

    def _plain(self, config: Any) -> dict[str, Any]:
        """A configuration as it is written, without the run that a command goes on with."""
        parser = self._parser(config.subcommand)
        text = parser.dump(config[config.subcommand], skip_none=False)
        settings = parse_yaml(text, "the configuration")
        return {**settings, "resume": None, "run": None, "ckpt_path": None}

    def fit(self, **arguments: Any) -> None:
        """Trains; an interrupted run says how to go on with it."""
        try:
            self.trainer.fit(**arguments)
            self._finish()
        except (SystemExit, KeyboardInterrupt):  # Lightning turns the one into the other
            path = last_checkpoint(self.trainer)
            kept = path is not None and path.is_file()
            how = f"Go on with: dislab fit --resume {self._run()}"
            rank_zero_info(f"Stopped. {how if kept else 'Nothing was saved yet.'}")
            sys.exit(_INTERRUPTED)
        except MisconfigurationException as error:
            limit = self.config[self.subcommand]["trainer"]["overfit_batches"]
            if not limit:
                raise
            # which Lightning takes for the other limits, and names those
            raise InputError(f"trainer.overfit_batches is {limit}: {_one_line(error)}") from error
        except RuntimeError as error:
            if not lost_another(error):
                raise
            raise TrainingError(
                f"process {self.trainer.global_rank} of {self.trainer.world_size} stopped, because "
                "another one ended; what that one said, if it could, is further up. Go on from the "
                f"last checkpoint, if there is one, with: dislab fit --resume {self._run()}"
            ) from error

    def _run(self) -> str:
        """The run folder as messages name it; a rehearsal has none."""
        return "RUN" if self._is_rehearsal() else self._run_folder.shown

    def _finish(self) -> None:
        """Writes what a whole run keeps besides the checkpoints of its steps."""
        if self._is_rehearsal():
            return
        if not self._run_folder.has_trained:
            count_last_step(self.trainer)
        self._kept_config.renew(self.trainer)
        saved = getattr(self.trainer.checkpoint_callback, "last_step", -1)
        path = last_checkpoint(self.trainer)
        if path is not None and saved != self.trainer.global_step:
            # the last step of an epoch or of a time limit is known only when it is over
            self.trainer.save_checkpoint(path, weights_only=False)

    def after_fit(self) -> None:
        """Takes losses on the test split, scores the codes, and says where the results are."""
        if self._is_rehearsal():
            return
        if not self.config[self.subcommand]["then_test"]:
            rank_zero_info(f"The run is in {self._run_folder.path}")
            return
        # a data module may go without test split
        score = self.trainer.test if len(self.datamodule.indices("test")) else self.trainer.validate
        callbacks = self.trainer.callbacks  # type: ignore[attr-defined]  # set by name
        try:
            if any(isinstance(one, StopOnSignal) and one.received for one in callbacks):
                raise KeyboardInterrupt
            score(self.model, datamodule=self.datamodule, weights_only=True)
        except (SystemExit, KeyboardInterrupt):  # Lightning turns the one into the other
            rank_zero_info(
                "Stopped. Training is finished and saved; score it with: "
                f"dislab {score.__name__} --run {self._run_folder.path}"
            )
            sys.exit(_INTERRUPTED)
        if not any(isinstance(one, RunPage) and one.written for one in callbacks):
            rank_zero_info(f"The run is in {self._run_folder.path}")  # else the page names it

    def _check_against_checkpoint(self, stored: dict[str, Any]) -> None:
        """Refuses model settings other than the checkpoint's, which LightningCLI puts over them."""
        common = self._asked.keys() & stored.keys()
        for key in sorted(common, key=lambda key: (not key.endswith("class"), key)):
            if self._asked[key] != stored[key]:
                raise InputError(
                    f"model.{key} is {self._asked[key]!r} here and {stored[key]!r} in the "
                    "checkpoint, which brings its own model settings; leave yours out"
                )

    def _asks_for_scores(self) -> bool:
        """Whether the scores are others than the default ones."""
        given = self.config[self.subcommand]["evaluate"]["metrics"] or {}
        default = _DEFAULTS["evaluate.metrics"]
        classes = [{name: one["class_path"] for name, one in s.items()} for s in (given, default)]
        return classes[0] != classes[1]

    def _on_cpu(self) -> bool:
        accelerator = self.config[self.subcommand]["trainer"]["accelerator"]
        return accelerator == "cpu" or not torch.cuda.is_available()

    def _is_rehearsal(self) -> bool:
        return bool(self.trainer.fast_dev_run)  # type: ignore[attr-defined]  # set by name

    def _folder(self, config: Any) -> Path | None:
        """The run folder; None in a process that gets it from the first one later."""
        if getattr(rank_zero_only, "rank", 0) != 0:
            return None
        if known := config["run"] or config["resume"] or os.environ.get(RUN_FOLDER):
            return Path(known)
        folder = new_run(Path(config["runs"]), config["name"])
        os.environ[RUN_FOLDER] = str(folder)
        return folder


def check_settings(config: Namespace) -> None:
    """Refuses settings that no signature forbids.

    Args:
        config: The settings of a training command, as its parser returns them.

    Raises:
        InputError: One names no part, wants what the data do not offer, or makes no sense.
    """
    check_names(config)
    check_offers(config)
    check_trainer_settings(config["trainer"].as_dict(), config["checkpoint"].as_dict())


def run(command: str, args: Sequence[str]) -> int:
    """Runs one training command and returns the exit status.

    Args:
        command: fit, validate, test or predict.
        args: What follows the command.

    Raises:
        InputError: The configuration or a file it names is wrong.
    """
    check_configurations(args)
    read_values_strictly()
    with warnings_in_one_line():
        plugins.load_all()
    confine_names()
    for message in _NOT_THE_USERS:
        warnings.filterwarnings("ignore", message)
    threading.excepthook = _thread_failed
    Parser.origin = written_elsewhere(args)
    logging.getLogger("lightning.pytorch.utilities.rank_zero").addFilter(_no_advertisement)
    try:
        with parts_named(), own_warnings_in_one_line(), ExitStack() as held:
            TrainingCLI.held = held
            TrainingCLI(
                Objective,
                DataModule,
                parser_class=Parser,
                subclass_mode_model=True,
                subclass_mode_data=True,
                auto_configure_optimizers=False,
                save_config_callback=None,
                args=[command, *of_run(args)],
            )
    except (InputError, TrainingError):
        raise
    except MisconfigurationException as error:
        raise InputError(_one_line(error)) from error
    except Exception as error:
        if isinstance(error, RuntimeError) and lost_another(error):
            raise TrainingError(
                f"process {dist.get_rank()} of {dist.get_world_size()} stopped, because another "
                "one ended; what that one said, if it could, is further up"
            ) from error
        if _restores_a_checkpoint(error):
            raise InputError(
                f"the checkpoint does not fit the model and the trainer: {_one_line(error)}"
            ) from error
        if isinstance(error, ValueError) and _is_of_lightning(error):
            raise InputError(_one_line(error)) from error
        raise
    finally:
        os.environ.pop(RUN_FOLDER, None)
    if dist.is_available() and dist.is_initialized():
        # Lightning leaves its threads to the end of the process, which they may abort
        dist.destroy_process_group()
    return 0


def _several(value: Any) -> list[Any]:
    """A setting that may be one thing, several, or none."""
    if not value:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _is_of_lightning(error: ValueError) -> bool:
    """Whether Lightning itself refuses a setting, rather than some code that it calls."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__name__", "")).startswith("lightning.")


def _restores_a_checkpoint(error: Exception) -> bool:
    """Whether something failed while Lightning put a checkpoint's content into its places."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(str(frame.f_globals.get("__name__")) == _RESTORING for frame in frames)


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    """Prints the error of a thread, except a failed write: TensorBoard's writer raises it again."""
    if not cannot_write(failed.exc_value):
        threading.__excepthook__(failed)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _no_advertisement(record: logging.LogRecord) -> bool:
    return "litlogger" not in record.getMessage() and "litmodels" not in record.getMessage()
