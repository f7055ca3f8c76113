"""Parser of the training commands: settings of every run, and links from data to model."""

import inspect
from argparse import HelpFormatter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, Final, Literal, NoReturn

import torch
from jsonargparse import DefaultHelpFormatter, Namespace
from lightning.pytorch.cli import (
    LightningArgumentParser,
)

from dislab.base import DataModule, Objective, offered
from dislab.callbacks import (
    Interpolations,
    Reconstructions,
    Representations,
    Samples,
    ScoreCurves,
    TransferScores,
    Traversals,
)
from dislab.cli import TRAINING
from dislab.cli.messages import explain
from dislab.cli.part_help import check_values, help_last, part_help, print_part_help
from dislab.cli.run_settings import CALLBACKS, SECTIONS, header
from dislab.cli.training_help import help_text, settings_text
from dislab.cli.yaml_input import merged, removals
from dislab.errors import InputError
from dislab.naming.classes import find_class, find_object
from dislab.plugins import configurations
from dislab.runs import LoggerName
from dislab.yaml_files import is_yaml, parse_yaml, written, yaml_text

_UNWRITABLE: Final = "Unable to serialize instance"
"""Text that jsonargparse writes in the place of an object."""

DEFAULTS: Final[dict[str, Any]] = {
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
"""Defaults of dislab that differ from those of the classes."""


class _Unwrapped(DefaultHelpFormatter):
    """A formatter that wraps no lines, so that no word is broken before the texts are changed."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "width": 10**6})  # type: ignore[no-untyped-call]


class Parser(LightningArgumentParser):
    """A parser whose errors are one message without the usage text."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"formatter_class": _Unwrapped, **options})

    origin: str = ""
    """Suffix of messages if a configuration file was written by another version."""

    section: str = ""
    """Section of the settings that `--help` shows; empty for the common options."""

    earlier: Any = None
    """Settings that the next configuration file is merged with; set by its option."""

    default_groups: dict[str, Any] = {}  # noqa: RUF012  # replaced by the option
    """Groups of named parts that no configuration file has set, by dotted name."""

    first: str = ""
    """The first configuration: a file or YAML text."""

    start: tuple[str, Any] | None = None
    """The first configuration file, and the settings after it."""

    def parse_args(self, args: Any = None, *others: Any, **options: Any) -> Any:
        """Parses arguments, of which those that set a named part to null remove it.

        Args:
            args: The arguments.
            others: Further arguments of jsonargparse.
            options: Further options of jsonargparse.

        Raises:
            InputError: A section holds no settings.
        """
        if not args:
            return super().parse_args(args, *others, **options)
        args = help_last(removals(args))
        if (request := part_help(args)) is not None:
            print_part_help(super().parse_args, *request)
        check_values(args, self)
        parsed = super().parse_args(args, *others, **options)
        _check_sections(parsed)
        return parsed

    def parse_string(self, content: str, *others: Any, **options: Any) -> Any:
        """Parses the text of a configuration file, merged with the settings before it.

        Args:
            content: The text.
            others: Further arguments of jsonargparse.
            options: Further options of jsonargparse.

        Raises:
            InputError: A part to be removed, or a setting at the top level, does not exist.
        """
        earlier, self.earlier = self.earlier, None
        if earlier is not None and isinstance(settings := parse_yaml(content, "--config"), dict):
            sections = {action.dest.partition(".")[0] for action in self._actions}
            for name in settings:
                if name not in sections:
                    self.error(f"Option {name!r} is not accepted")
            for fault in _unknown_inside(self, settings):
                self.error(fault)
            together = _unknown_as_null(self, merged(settings, earlier, self.default_groups))
            for group in list(self.default_groups):
                section, _, name = group.partition(".")
                if name in (settings.get(section) or ()):
                    del self.default_groups[group]
            content = content if together == settings else yaml_text(together)
        return super().parse_string(content, *others, **options)

    def parse_object(self, obj: Any, *others: Any, **options: Any) -> Any:
        """Parses settings, such as those of one class, of which no unknown one is dropped.

        Args:
            obj: The settings.
            others: Further arguments of jsonargparse.
            options: Further options of jsonargparse.
        """
        return super().parse_object(_unknown_as_null(self, obj), *others, **options)

    def format_help(self, formatter: HelpFormatter | None = None) -> str:
        """Formats the help of a command in sections.

        Args:
            formatter: Formatter of the full help; the parser's own unless given.
        """
        full: str = super().format_help(formatter)
        command = self.prog.split()[-1]
        is_whole = command in TRAINING and self.groups  # else the settings of one class
        if not is_whole:
            return settings_text(full)
        return help_text(command, self.description or "", full, self.section)

    def dump(self, cfg: Namespace, *args: Any, **options: Any) -> str:
        """Settings as YAML, without arguments of classes that only a default can give.

        For example, the default device of `StochasticWeightAveraging` is an object that no file
        holds; without it, the class takes its default again.

        Args:
            cfg: The settings.
            args: Further arguments of jsonargparse's method.
            options: Likewise.

        Raises:
            InputError: A section holds no settings, or a setting is another object that no file
                holds.
        """
        _check_sections(cfg)
        cfg = cfg.clone()
        _leave_defaults_out(cfg)
        text: str = super().dump(cfg, *args, **options)
        for line in text.splitlines() if _UNWRITABLE in text else ():
            if _UNWRITABLE in line:
                raise InputError(
                    f"{line.strip(' -').replace(_UNWRITABLE, 'an object')}, which no configuration "
                    "can hold; leave it out or give it as text"
                )
        return text

    def _file(self) -> str:
        """The first configuration as the user may write it; empty if it is text or none."""
        name = Path(self.first).stem
        if name in configurations():
            return name
        return self.first if is_yaml(self.first) else ""

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Raises an error that states the location, the fault and the allowed values.

        Args:
            message: Message of jsonargparse.
            ex: Error that jsonargparse raised.

        Raises:
            InputError: Always, but for a nested parser, to whose error the outer one adds the
                location.
        """
        if not self.exit_on_error:
            super().error(message, ex)
        command = self.prog.rpartition(" ")[2]
        hidden = ("help", "config", "print_config", "print_shtab")
        keys = [
            action.dest
            for action in self._actions
            if action.dest not in hidden and not action.dest.endswith(".help")
        ]
        raise InputError(
            "; ".join(filter(None, (explain(message, keys, command, self._file()), self.origin)))
        ) from ex


def _unknown_inside(parser: Parser, settings: Mapping[str, Any]) -> Iterator[str]:
    """Messages of jsonargparse for unknown settings in sections of a fixed class."""
    options = {action.dest for action in parser._actions if not action.dest.endswith(".help")}
    for section, content in settings.items():
        inside = {option.split(".")[1] for option in options if option.startswith(f"{section}.")}
        for name in content if inside and isinstance(content, Mapping) else ():
            if name not in inside:
                yield f"Group {section!r} does not accept option {str(name)!r}"


def _check_sections(config: Namespace) -> None:
    """Refuses a value in the place of a section's settings, in the settings of a whole run."""
    for name in SECTIONS if "trainer" in config else ():
        if not isinstance(value := config[name], Namespace):
            raise InputError(
                f"{name} is {written(value)}; it must hold settings, which `dislab fit --help "
                f"{name}` lists"
            )


def _unknown_as_null(parser: Parser, settings: Any, section: str = "") -> Any:
    """Settings with null for unknown empty mappings, which jsonargparse drops in silence."""
    if not isinstance(settings, Mapping | Namespace):
        return settings
    options = [action.dest for action in parser._actions if not action.dest.endswith(".help")]
    content = settings if isinstance(settings, Mapping) else vars(settings)
    kept = {}
    for name, value in content.items():
        key = f"{section}{name}"
        if any(option.startswith(f"{key}.") for option in options):
            value = _unknown_as_null(parser, value, f"{key}.")
        elif isinstance(value, Mapping | Namespace) and not value and key not in options:
            value = None
        kept[name] = value
    is_parsed = isinstance(settings, Namespace)
    return Namespace(kept) if is_parsed else kept  # type: ignore[no-untyped-call]


def add_arguments(parser: LightningArgumentParser) -> None:
    """Adds the settings and callbacks of every run, and the links between data and model."""
    _add_folders(parser)
    _add_speed(parser)
    _add_outputs(parser)
    for name, cls in CALLBACKS.items():
        parser.add_lightning_class_args(cls, name)
    parser.set_defaults(DEFAULTS)
    parser.dump_header = header()
    link(parser)


def _add_folders(parser: LightningArgumentParser) -> None:
    parser.add_argument("--name", type=str, default="run", help="name of the run's folder")
    parser.add_argument(
        "--method",
        type=str | None,
        default=None,
        help="what tables and pages call the method, such as FactorVAE; the run's name unless set",
    )
    parser.add_argument("--runs", type=str, default="runs", help="folder of all runs")
    parser.add_argument(
        "--run", type=str | None, default=None, help="folder of a run to score or encode"
    )
    parser.add_argument(
        "--resume", type=str | None, default=None, help="folder of a run to go on training"
    )


def _add_speed(parser: LightningArgumentParser) -> None:
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


def _add_outputs(parser: LightningArgumentParser) -> None:
    parser.add_argument(
        "--logger",
        type=LoggerName,
        default="tensorboard",
        help="a second log of losses, scores and pictures, beside the run's own files; csv and "
        "none: nothing but these; trainer.logger takes other loggers",
    )
    parser.add_argument(
        "--report",
        type=bool,
        default=True,
        help="write the page of the run, report.html, when its scores have been taken",
    )
    parser.add_argument(
        "--pictures",
        type=bool | Literal["end"],
        default=True,
        help="draw reconstructions, traversals, samples and interpolations; with end only "
        "those of the trained model, none at each validation",
    )
    parser.add_argument(
        "--then_test", type=bool, default=True, help="after training, do what test does"
    )


def leave_off(parser: LightningArgumentParser, command: str, config: Namespace) -> None:
    """Makes the parser build no callbacks that are off, unless a setting of theirs needs a check.

    `config` holds the settings of the training command. Callbacks that are off and have default
    settings become None.
    """
    off: set[type[Any]] = {TransferScores}  # without scenarios, its default
    if not config["pictures"]:
        off |= {Reconstructions, Traversals, Samples, Interpolations}
    if command != "predict":
        off.add(Representations)
    if not config.get("ckpt_path"):  # which may hold a state of it
        off.add(ScoreCurves)  # with 0 steps, its default
    for cls in off:
        parser.add_instantiator(_unless_default, cls, subclasses=False)


def _unless_default(cls: type[Any], **settings: Any) -> Any:
    """A callback, whose constructor checks its settings; None if all are defaults."""
    parameters = inspect.signature(cls).parameters
    if all(parameters[name].default == value for name, value in settings.items()):
        return None
    return cls(**settings)


def _leave_defaults_out(settings: Any) -> None:
    """Removes arguments of classes that are objects and equal their defaults, in place."""
    if isinstance(settings, Namespace):
        arguments = settings.get("init_args")
        values = vars(arguments).items() if isinstance(arguments, Namespace) else ()
        objects = {k: v for k, v in values if isinstance(v, torch.device | FunctionType)}
        if objects and callable(cls := find_object(settings["class_path"])):
            for name, parameter in inspect.signature(cls).parameters.items():
                if name in objects and objects[name] == parameter.default:
                    del arguments[name]
        settings = vars(settings)
    if isinstance(settings, dict):
        settings = settings.values()
    if not isinstance(settings, str) and isinstance(settings, Iterable):
        for setting in settings:
            _leave_defaults_out(setting)


def link(parser: LightningArgumentParser) -> None:
    """Links the model's arguments to the properties that any data module offers."""
    for name in offered():
        target = f"model.init_args.{name}"
        if name in DataModule.offers:
            parser.link_arguments(f"data.{name}", target, apply_on="instantiate")
        else:  # some data modules lack this property
            parser.link_arguments("data", target, _taking(name), apply_on="instantiate")


def _taking(name: str) -> Callable[[DataModule], Any]:
    def take(data: DataModule) -> Any:
        return getattr(data, name, None)

    return take


def check_offers(config: Any) -> None:
    """Checks that the data module offers all properties that the model needs.

    Raises:
        InputError: The model needs a property that the data module lacks; the message names data
            modules that have it.
    """
    model: Any = find_class(config["model"]["class_path"], (Objective,), "model")
    data: Any = find_class(config["data"]["class_path"], (DataModule,), "data")
    needed = {
        name
        for name, parameter in inspect.signature(model).parameters.items()
        if parameter.default is parameter.empty and name in offered()
    }
    if missing := sorted(needed - {*data.offers}):
        others = [
            parameter.__name__
            for parameter in _below(DataModule)
            if needed <= {*parameter.offers} and issubclass(parameter.batch_type, model.batch_types)
        ]
        remedy = (
            f"choose {' or '.join(sorted(others))}" if others else "no data module that fits does"
        )
        raise InputError(
            f"{model.__name__} needs {', '.join(missing)} from the data, which {data.__name__} "
            f"does not offer; {remedy}"
        )


def _below(base: type[Any]) -> list[type[Any]]:
    """The concrete classes that derive from a class."""
    below = [cls for derived in base.__subclasses__() for cls in _below(derived)]
    return below if inspect.isabstract(base) else [base, *below]
