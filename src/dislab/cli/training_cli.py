"""LightningCLI with links between parts, checks, callbacks and the run folder."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

import torch
from jsonargparse import Namespace
from lightning.fabric.plugins import CheckpointIO
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import ModelCheckpoint, ProgressBar
from lightning.pytorch.cli import (
    ArgsType,
    LightningArgumentParser,
    LightningCLI,
)
from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_info, rank_zero_only

from dislab.base import DataModule, Objective
from dislab.base.trainer_counters import log_at
from dislab.callbacks import (
    Evaluate,
    Progress,
    RunPage,
    StopOnSignal,
)
from dislab.callbacks._trainer import RunFolder
from dislab.callbacks.pictures import Picture
from dislab.cli.checks import (
    arose_in,
    check_epoch,
    check_method,
    check_optimizer,
    check_trainer_settings,
    paths_outside,
    refused,
    several,
)
from dislab.cli.messages import built
from dislab.cli.monitors import KnownMonitors, check_monitors
from dislab.cli.process import keep_freed_memory, old_objects_left_alone
from dislab.cli.run_settings import (
    KeepConfig,
    changed,
    changes,
    flat,
    images_of,
    name_of_data,
    with_absolute_paths,
)
from dislab.cli.training_limits import check_limits, ending
from dislab.cli.training_options import sets
from dislab.cli.training_parser import (
    DEFAULTS,
    Parser,
    add_arguments,
    check_offers,
    leave_off,
)
from dislab.cli.yaml_input import ConfigFile, differences
from dislab.errors import DivergenceError, InputError, TrainingError, one_line
from dislab.functional.checks import check_count
from dislab.functional.runtime import check_precision, lost_another
from dislab.naming.classes import method_of
from dislab.naming.parsed import check_parsed
from dislab.plugins import check_methods
from dislab.runs import (
    CONFIG,
    LAST,
    Best,
    CheckpointFiles,
    Curves,
    best_checkpoint,
    check_logger,
    check_model_names,
    check_resumable,
    last_checkpoint,
    named_logger,
    new_run,
    read_checkpoint,
    record_divergence,
    remove_unused,
    trained_alone,
)
from dislab.runs.records import OTHER_DATA, scored_stage
from dislab.yaml_files import parse_yaml, read_mapping

_INTERRUPTED: Final = 130
"""Exit status after Ctrl-C, SIGTERM or SIGHUP."""


class TrainingCLI(LightningCLI):
    """LightningCLI with dislab's links, callbacks and run folder, for a single command.

    Lightning's parser of commands would parse and check all settings a second time.

    Args:
        command: fit, validate, test or predict.
        args: Its arguments.
        resources: Releases the lock of the run and closes its loggers when the command ends.
        folder: The run folder that a study has chosen; a new one unless given.
        origin: Suffix of messages if a configuration file was written by another version.
        section: Section of the settings that `--help` shows; empty for the common options.
        parser_settings: Further settings of the parser.
    """

    _results: Path | None = None
    """The folder of the results of a finished run."""

    longer: str = ""
    """Option to train longer, where a limit has just ended training."""

    outcome: tuple[tuple[str, str], ...] = ()
    """Rows on why training ended, and its best checkpoint."""

    _model_settings: dict[str, Any] = {}  # noqa: RUF012  # replaced, never changed
    _changed: dict[str, Any] = {}  # noqa: RUF012  # replaced, never changed

    def __init__(
        self,
        command: str,
        args: list[str],
        resources: ExitStack,
        folder: Path | None = None,
        origin: str = "",
        section: str = "",
        **parser_settings: Any,
    ) -> None:
        self.command = command
        self._resources = resources
        self._folder_of_study = folder
        self._origin, self._section = origin, section
        super().__init__(
            Objective,
            DataModule,
            parser_class=Parser,
            subclass_mode_model=True,
            subclass_mode_data=True,
            auto_configure_optimizers=False,
            save_config_callback=None,
            args=args,
            run=False,
            parser_kwargs={"prog": f"dislab {command}", **parser_settings},
        )

    def init_parser(self, **settings: Any) -> LightningArgumentParser:
        """Builds a parser whose configuration files merge named parts."""
        parser = Parser(**{**settings, "allow_abbrev": False})
        parser.origin, parser.section = self._origin, self._section
        parser.add_argument("-c", "--config", action=ConfigFile, help="Path of a YAML file.")
        return parser

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Adds the settings of every run, and the arguments of the trainer's method."""
        add_arguments(parser)
        skipped: set[str | int] = {*self.subcommands()[self.command]}
        self._arguments = parser.add_method_arguments(Trainer, self.command, skip=skipped)

    def parse_arguments(self, parser: LightningArgumentParser, args: ArgsType) -> None:
        """Parses the command line, and checks `run`, `resume` and `ckpt_path`."""
        config = self.config = parser.parse_args(cast("list[str]", args))
        if not isinstance(seed := config["seed_everything"], bool | None):
            check_count("seed_everything", seed, 0, most=2**32 - 1)
        wrong, right = ("run", "resume") if self.command == "fit" else ("resume", "run")
        if config[wrong] is not None:
            raise InputError(f"dislab {self.command} takes --{right}, not --{wrong}")
        if config[right] is not None and not any(
            arg.partition("=")[0] == f"--{right}" for arg in cast("list[str]", args)
        ):
            raise InputError(f"{right} is set in a configuration file; give --{right} instead")
        before = config
        if config["resume"] is not None:
            file = str(Path(config["resume"], CONFIG))
            before = parser.parse_args([f"--config={file}"])
            self._changed = changed(self._plain(before), self._plain(config))
        if config["run"] is not None:
            self._results = self._results_of(Path(config["run"]))
        self._check_paths(config, cast("list[str]", args))
        checkpoint = config.get("ckpt_path")
        if checkpoint in ("last", "best", "hpc"):
            raise InputError(
                f"ckpt_path {checkpoint!r} has no meaning in a new run folder, and training would "
                "start afresh; name a file, or go on with a run by --resume or --run"
            )
        if checkpoint:
            stored = read_checkpoint(checkpoint)
            check_model_names(checkpoint, stored)
            if self.command == "fit":
                check_resumable(checkpoint, stored)
                run = str(config["resume"] or checkpoint)
                check_limits(stored, config["trainer"], before["trainer"], run)
            self._model_settings = flat(config["model"])
            self._take_model(stored.get("hyper_parameters") or {})

    def _take_model(self, stored: dict[str, Any]) -> None:
        """Replaces the model's settings by those that a checkpoint has stored."""
        settings = {key: value for key, value in stored.items() if key != "_instantiator"}
        if class_path := settings.pop("_class_path", None):
            settings = {"class_path": class_path, "dict_kwargs": settings}
        if settings:
            self.config = self.parser.parse_object({"model": settings}, self.config)

    def _check_paths(self, config: Namespace, args: Sequence[str]) -> None:
        """Refuses paths outside a run folder that only the folder's own configuration sets."""
        of_study = self._folder_of_study
        folder: str | Path | None = config["resume"] or config["run"] or of_study
        if folder is None:
            return
        for name, value in paths_outside(config, Path(folder)):
            setting = ".".join(name.split(".")[:2])
            if not of_study and sets(args, setting, Path(folder, CONFIG)):
                continue
            remedy = (
                "the runs of a study write into their folders only"
                if of_study
                else f"if that is right, give --{setting} on the command line too"
            )
            raise InputError(
                f"{name} is {value!r} in the configuration of {folder}, and files would be written "
                f"there, outside this folder; {remedy}"
            )

    def _results_of(self, run: Path) -> Path:
        """The folder of a finished run, or one inside it for results on other data."""
        path, section = run / CONFIG, self._plain(self.config)["data"]
        if read_mapping(path, "data: {class_path: SingleData}").get("data") == section:
            return run  # without parsing the file again
        of_the_run = self.parser.parse_args([f"--config={path}"])
        before, here = images_of(self._plain(of_the_run)["data"]), images_of(section)
        if not (differ := changes(before, here)):
            return run
        listed = ", ".join(
            f"data{f'.{name}' if name else ''} is {new!r} instead of {old!r}"
            for name, (old, new) in differ.items()
            if "dataset" not in differ or not name.startswith("dataset.")
        )
        folder = run / OTHER_DATA / name_of_data(here)
        rank_zero_info(f"Results go into {folder}, as the data differ from the run's: {listed}")
        return folder

    def before_instantiate_classes(self) -> None:
        """Checks the settings, and fills in those that depend on the command or the machine."""
        config = self.config
        check_settings(config)
        check_logger(config["logger"], config["trainer"]["logger"])
        self._check_against_checkpoint(flat(config["model"]))
        if config["weights_only"] is None:
            config["weights_only"] = True
        checkpoint = config["checkpoint"]
        if checkpoint["every_n_epochs"] or checkpoint["train_time_interval"]:
            checkpoint["every_n_train_steps"] = None  # the user's trigger replaces the default
        if config["trainer"]["fast_dev_run"]:
            checkpoint["save_last"] = False  # ModelCheckpoint saves even in a rehearsal
        if self.command == "predict":
            config["return_predictions"] = False
        if config["keep_freed_memory"] and self._on_cpu():
            keep_freed_memory()

    def instantiate_classes(self) -> None:
        """Builds data, model and trainer, and reports rejected settings in one message."""
        leave_off(self.parser, self.command, self.config)
        built(super().instantiate_classes, self.parser)
        for callback in self.trainer.callbacks:  # type: ignore[attr-defined]  # set by a connector
            check_methods(type(callback))
            if isinstance(callback, Evaluate):
                callback.asked = self._asks_for_scores()
            if isinstance(callback, Progress):
                callback.changes = self._changes_of_parts()
                callback.other_regularizers = self._other_regularizers()
                callback.method = method_of(self.config.as_dict())
        channels_last = self.config["channels_last"]
        if self._on_cpu() if channels_last is None else channels_last:
            # changes only the memory layout, not the order of values in a checkpoint
            self.model.to(memory_format=torch.channels_last)

    def _changes_of_parts(self) -> str:
        """The configuration files, and which parts are not those of the first one."""
        files, first = getattr(self.parser, "start", ([], None))
        parts = [] if first is None else list(differences(first, self.config))
        names = ", ".join(files)
        if parts:
            return f"{names}; other parts: {'; '.join(parts)}"
        return names if files[1:] else ""

    def _other_regularizers(self) -> str:
        """Which regularizers are not those of the first configuration file.

        Files behind it that bring some train another objective, which a line of `fit` says.
        """
        files, first = getattr(self.parser, "start", ([], None))
        before, after = (
            {} if settings is None else settings.get("model.init_args.regularizers") or {}
            for settings in (first, self.config)
        )
        if first is None:
            return ""
        added = ", ".join(name for name in after if name not in before)
        if added and files[1:] and self.command == "fit":
            rank_zero_info(
                f"note: this trains another objective than {files[0]}, as a file behind it "
                f"({', '.join(files[1:])}) or an option adds the regularizer {added}; to train "
                f"that of {files[0]}, remove {added} there"
            )
        return "; ".join(differences(before, after, "regularizers"))

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        """Builds the trainer and, once all settings are accepted, run folder and loggers."""
        config = self.config_init
        keys = self.parser.callback_keys
        self.parser.callback_keys = [key for key in keys if config[key] is not None]
        if self.command == "fit":
            check_optimizer(cast("Objective", self.model))
        settings = config["trainer"]
        check_precision(settings.get("precision"))
        check_epoch(settings.as_dict(), self.datamodule)
        callbacks = several(settings.get("callbacks"))
        own_bar = any(isinstance(plugin, ProgressBar) for plugin in callbacks)
        shows_bar, kwargs["enable_progress_bar"] = settings.get("enable_progress_bar"), own_bar
        if settings.get("enable_model_summary") is None:
            kwargs["enable_model_summary"] = False  # Progress prints its totals
        plugins = several(settings.get("plugins"))
        if not any(isinstance(plugin, CheckpointIO) for plugin in plugins):
            kwargs["plugins"] = [*plugins, CheckpointFiles()]
        if not (is_rehearsal := settings.get("fast_dev_run")):
            kwargs["logger"] = False
        try:
            trainer = super().instantiate_trainer(**kwargs)
        except InputError:
            raise
        except (MisconfigurationException, ImportError, ValueError, RuntimeError) as error:
            if arose_in(error, [*callbacks, *plugins, *several(settings.get("logger"))]):
                raise  # a fault in code of another package, which its traceback shows
            raise refused(settings.as_dict(), error) from error
        _show(trainer, shows_bar, own_bar)
        if is_rehearsal:
            return trainer
        pictures = self.config["pictures"]
        callbacks = trainer.callbacks  # type: ignore[attr-defined]  # set by name
        for picture in [plugin for plugin in callbacks if isinstance(plugin, Picture)]:
            picture.in_training = pictures is True
            if not pictures:
                callbacks.remove(picture)
        callbacks.insert(0, KnownMonitors(callbacks))
        self._keep_run(trainer, config)
        return trainer

    def _keep_run(self, trainer: Trainer, config: Any) -> None:
        """Creates the run folder and directs config, checkpoints, curves and loggers to it."""
        folder = self._folder(config)
        self.run_folder = RunFolder(folder)
        first_step = 0
        if folder is not None and self.command == "fit":
            self._resources.enter_context(trained_alone(folder))
            if config["resume"] is None:
                self._resources.push(self._remove_unused)
            else:
                stored = read_checkpoint(config["ckpt_path"])
                check_resumable(config["ckpt_path"], stored, trainer.fit_loop.state_dict())
                first_step = int(stored["global_step"])
        is_written = config["resume"] or (config["run"] and folder == Path(config["run"]))
        text = "" if is_written else self._dumped(self.config)
        self._kept_config = KeepConfig(text, self._changed, first_step)
        trainer.callbacks[:0] = [self.run_folder, self._kept_config]  # type: ignore[attr-defined]
        if config["report"]:
            trainer.callbacks.append(RunPage())  # type: ignore[attr-defined]  # behind the scores
        if folder is None:  # the loggers of this process write nothing
            trainer.loggers = [Curves(Path(config["runs"], config["name"]))]
            return
        for callback in trainer.checkpoint_callbacks:
            if not isinstance(callback, ModelCheckpoint):
                continue
            if callback.dirpath is None:
                callback.dirpath = str(folder / LAST.parent)
            elif text and self.command == "fit":
                _check_unused(Path(callback.dirpath))
        curves = [] if config["run"] else [Curves(folder, first_step)]
        trainer.loggers = [*self._loggers(config, folder, first_step), *curves]

    def _loggers(self, config: Any, folder: Path, first_step: int) -> list[Logger]:
        """The loggers of `trainer.logger`; unless it sets any, the one that `logger` names."""
        loggers_of_trainer = config["trainer"].get("logger")
        if loggers_of_trainer is not None and loggers_of_trainer is not True:
            return several(loggers_of_trainer)
        # comparing all settings takes longer than creating the usual loggers
        settings = self._plain(self.config) if config["logger"] in ("wandb", "mlflow") else {}
        purge = first_step if config["resume"] else None
        loggers, close = named_logger(
            config["logger"], folder, Path(config["runs"]), settings, purge
        )
        self._resources.callback(close)
        return loggers

    def _remove_unused(self, kind: object, error: object, trace: object) -> None:
        """Removes the folder of a new run that failed before its first step."""
        if error is not None and not self.run_folder.has_trained:
            remove_unused(self.run_folder.path)

    def _plain(self, config: Any) -> dict[str, Any]:
        """The configuration to write to a file, without the run to resume or score."""
        text = self._dumped(config)
        settings = parse_yaml(text, "the configuration")
        return {**settings, "resume": None, "run": None, "ckpt_path": None}

    def _dumped(self, config: Any) -> str:
        """Settings as YAML with absolute paths of data, without checking them again."""
        paths = with_absolute_paths(config)
        text: str = self.parser.dump(paths, skip_none=False, skip_validation=True)
        return text

    @cached_property
    def config_dump(self) -> dict[str, Any]:
        """The settings that Lightning stores with models, dumped without checking them again."""
        text = self.parser.dump(
            self.config, skip_link_targets=False, skip_none=False, skip_validation=True
        )
        settings: dict[str, Any] = parse_yaml(text, "the configuration")
        return settings

    def run(self) -> None:
        """Runs the command."""
        settings = {name: self.config_init[name] for name in self._arguments}
        run = getattr(self, self.command, None) or getattr(self.trainer, self.command)
        run(model=self.model, datamodule=self.datamodule, **settings)
        if self.command == "fit":
            self.after_fit()

    def fit(self, **arguments: Any) -> None:
        """Trains; after an interruption, prints the command that resumes the run."""
        try:
            with old_objects_left_alone():
                self.trainer.fit(**arguments)
            self._finish()
        except DivergenceError as error:
            if not self.is_rehearsal():
                record_divergence(self.run_folder.path, str(error))
            raise
        except (SystemExit, KeyboardInterrupt):  # Lightning turns KeyboardInterrupt into SystemExit
            path = last_checkpoint(self.trainer)
            is_saved = path is not None and path.is_file()
            how = f"Go on with: dislab fit --resume {self._run()}"
            rank_zero_info(f"Stopped. {how if is_saved else 'Nothing was saved yet.'}")
            sys.exit(_INTERRUPTED)
        except MisconfigurationException as error:
            limit = self.config["trainer"]["overfit_batches"]
            if not limit:
                raise
            # Lightning's own message names other limits
            raise InputError(f"trainer.overfit_batches is {limit}: {one_line(error)}") from error
        except RuntimeError as error:
            if not lost_another(error):
                raise
            raise TrainingError(
                f"process {self.trainer.global_rank} of {self.trainer.world_size} stopped, because "
                "another one ended; the output above shows its error, unless it was killed. Go on "
                f"from the last checkpoint, if there is one: dislab fit --resume {self._run()}"
            ) from error

    def _run(self) -> str:
        """The run folder for messages; a rehearsal has none."""
        return "RUN" if self.is_rehearsal() else self.run_folder.display_path

    def _finish(self) -> None:
        """Writes the final configuration and checkpoint of a finished run."""
        if self.is_rehearsal():
            return
        self._kept_config.renew(self.trainer)
        if not self.run_folder.has_trained:  # a finished run keeps its checkpoint
            log_at(self.trainer, self.trainer.global_step)
            return
        saved = getattr(self.trainer.checkpoint_callback, "last_step", -1)
        path = last_checkpoint(self.trainer)
        if path is not None and saved != self.trainer.global_step:
            # with a limit on epochs or time, the last step is known only at the end
            self.trainer.save_checkpoint(path, weights_only=False)

    def after_fit(self) -> None:
        """Computes test losses and scores the codes."""
        if self.is_rehearsal():
            return
        best = self._best()
        reason, self.longer = ending(self.trainer)
        self.outcome = tuple(_outcome(self.trainer, best, reason))
        if not self.config["then_test"]:
            return
        stage = scored_stage(self.datamodule)
        score = getattr(self.trainer, stage)
        callbacks = self.trainer.callbacks  # type: ignore[attr-defined]  # set by name
        try:
            if any(
                isinstance(callback, StopOnSignal) and callback.received for callback in callbacks
            ):
                raise KeyboardInterrupt
            score(
                self.model,
                datamodule=self.datamodule,
                ckpt_path=best and best.path,
                weights_only=True,
                verbose=False,
            )
        except (SystemExit, KeyboardInterrupt):  # Lightning turns KeyboardInterrupt into SystemExit
            rank_zero_info(
                "Stopped. Training is finished and saved; score it with: "
                f"dislab {stage} --run {self.run_folder.path}"
            )
            sys.exit(_INTERRUPTED)

    def _best(self) -> Best | None:
        """The checkpoint that the run's monitor chose."""
        last = last_checkpoint(self.trainer)
        return None if last is None else best_checkpoint(last.parent)

    def validate(self, **arguments: Any) -> None:
        """Scores without Lightning's table of losses, which Progress prints in a line."""
        self.trainer.validate(**arguments | {"verbose": False})

    def test(self, **arguments: Any) -> None:
        """Scores without Lightning's table of losses, which Progress prints in a line."""
        self.trainer.test(**arguments | {"verbose": False})

    def _check_against_checkpoint(self, stored: dict[str, Any]) -> None:
        """Rejects model settings that differ from those of the checkpoint, which override them."""
        common = self._model_settings.keys() & stored.keys()
        for key in sorted(common, key=lambda key: (not key.endswith("class"), key)):
            if self._model_settings[key] != stored[key]:
                raise InputError(
                    f"model.{key} is {self._model_settings[key]!r} here and {stored[key]!r} in the "
                    "checkpoint, which brings its own model settings; leave yours out"
                )

    def _asks_for_scores(self) -> bool:
        """Whether the scores differ from the default ones."""
        metrics = self.config["evaluate"]["metrics"] or {}
        default = DEFAULTS["evaluate.metrics"]
        classes = [
            {name: metric["class_path"] for name, metric in s.items()} for s in (metrics, default)
        ]
        return classes[0] != classes[1]

    def _on_cpu(self) -> bool:
        accelerator = self.config["trainer"]["accelerator"]
        return accelerator == "cpu" or not torch.cuda.is_available()

    def is_rehearsal(self) -> bool:
        """Whether the command only checks that the code runs (`fast_dev_run`)."""
        return bool(self.trainer.fast_dev_run)  # type: ignore[attr-defined]  # set by name

    def _folder(self, config: Any) -> Path | None:
        """The run folder; None in processes other than the first, which receive it later."""
        if getattr(rank_zero_only, "rank", 0) != 0:
            return None
        if config["run"]:
            return self._results
        if folder := config["resume"] or self._folder_of_study:
            return Path(folder)
        return new_run(Path(config["runs"]), config["name"])


def _outcome(trainer: Trainer, best: Best | None, reason: str) -> Iterator[tuple[str, str]]:
    """Why training ended and, with a monitor, its best checkpoint."""
    yield "ended", f"step {trainer.global_step}: {reason}"
    if best is not None:
        text = f"{best.path} ({best.monitor} {best.score:.5g}), which all commands read unless "
        yield "best", text + "--checkpoint last is given"
    for callback in trainer.checkpoint_callbacks:
        if best is None and (monitor := getattr(callback, "monitor", None)):
            text = "none kept, as checkpoint.save_top_k is 0 or nothing was saved yet"
            yield "best", f"{text} ({monitor})"


def _check_unused(folder: Path) -> None:
    """Refuses to replace checkpoints of another run."""
    if checkpoint := next(folder.glob("*.ckpt"), None):
        raise InputError(
            f"checkpoint.dirpath is {folder}, which has checkpoints already, such as "
            f"{checkpoint.name}; name another folder, or leave it out"
        )


def _show(trainer: Trainer, shows_bar: bool | None, own_bar: bool) -> None:
    """Applies `trainer.enable_progress_bar` to Progress, which a user's own bar replaces."""
    callbacks = trainer.callbacks  # type: ignore[attr-defined]  # set by name
    for callback in [progress for progress in callbacks if isinstance(progress, Progress)]:
        if own_bar:
            callbacks.remove(callback)
        elif shows_bar is not None:
            callback.show = "bar" if shows_bar else "nothing"


def check_settings(config: Namespace) -> None:
    """Rejects invalid settings that signatures cannot exclude.

    Args:
        config: The settings of a training command, as returned by its parser.

    Raises:
        InputError: A setting names no part, requires a property that the data do not offer, or is
            invalid.
    """
    check_parsed(config)
    check_method(config["method"])
    check_offers(config)
    is_new = not (config["run"] or config["resume"])
    check_trainer_settings(config["trainer"].as_dict(), config["checkpoint"].as_dict(), is_new)
    check_monitors(config.as_dict())
