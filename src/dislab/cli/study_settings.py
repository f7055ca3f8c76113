"""Parses the configurations of a study's runs as `dislab fit` would, without training."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final, cast

from jsonargparse import Namespace
from lightning.pytorch import Trainer
from lightning.pytorch.cli import ArgsType, LightningArgumentParser

from dislab import plugins
from dislab.callbacks import Evaluate, Generalisation, TransferScores
from dislab.cli.checks import check_epoch, check_optimizer, paths_outside
from dislab.cli.training_cli import TrainingCLI, built, check_sections, check_settings
from dislab.cli.yaml_input import check_configurations
from dislab.errors import InputError
from dislab.functional.runtime import check_precision
from dislab.metrics.evaluation import built as built_metric
from dislab.naming.parsed import confine_names
from dislab.study.identity import training_of, without_defaults
from dislab.study.schedule import Resolved, Resolver
from dislab.transfer.run import check_predictors
from dislab.yaml_files import parse_yaml, read_values_strictly

_OWNERS: Final[dict[str, type]] = {
    "evaluate": Evaluate,
    "transfer": TransferScores,
    "generalisation": Generalisation,
}
"""Class that takes the settings, by section."""

_COMMAND: Final = "fit"


class _Settings(TrainingCLI):
    """The parser of `dislab fit`, without running the command."""

    def __init__(self, builds: bool) -> None:
        self._builds = builds
        super().__init__([_COMMAND], ExitStack())

    def parse_arguments(self, parser: LightningArgumentParser, args: ArgsType) -> None:
        """Does nothing: `resolve` parses the arguments."""
        self.config = {"subcommand": None, "seed_everything": False}

    def before_instantiate_classes(self) -> None:
        """Does nothing."""

    def instantiate_classes(self) -> None:
        """Instantiates nothing."""

    def resolve(self, args: Sequence[str]) -> Resolved:
        """Parses arguments of `dislab fit` into settings."""
        check_configurations(args)
        parsed = self.parser.parse_args([_COMMAND, *args])[_COMMAND]
        check_sections(parsed)
        for name in ("ckpt_path", "resume", "run"):
            if parsed[name] is not None:
                raise InputError(
                    f"{name} is {parsed[name]}; the runs of a study start by themselves"
                )
        if parsed["trainer"]["fast_dev_run"]:
            raise InputError("trainer.fast_dev_run keeps no run; leave it out of a study")
        check_settings(parsed)
        for name, value in paths_outside(parsed, None):
            raise InputError(
                f"{name} is {value!r}; the runs of a study write into their folders only, so leave "
                "it out"
            )
        text = self.settings_parser.dump(parsed, skip_none=False)
        config = cast("dict[str, Any]", parse_yaml(text, "the configuration"))
        if self._builds:
            self._build(parsed, config)
        return Resolved(
            config=config,
            training=training_of(config, Trainer),
            sections={
                name: without_defaults(config[name], owner) for name, owner in _OWNERS.items()
            },
        )

    def _build(self, parsed: Namespace, config: dict[str, Any]) -> None:
        """Builds all parts of a run, scores and predictors included, which check their settings."""
        self.config_dump = config  # the settings that a model keeps
        parts = built(lambda: self.settings_parser.instantiate_classes(parsed))
        built(lambda: _build_scores(parts))
        check_optimizer(parts["model"])
        check_precision(parts["trainer"]["precision"])
        check_epoch(parts["trainer"].as_dict(), parts["data"])


def _build_scores(parts: Namespace) -> None:
    """Builds the scores and predictors of a run, as its callbacks will."""
    if not parts["model"].has_codes:
        return
    space = parts["data"].factors
    curves = parts["score_curves"].metrics if parts["score_curves"].steps else {}
    for key, metric in [*parts["evaluate"].metrics.items(), *curves.items()]:
        built_metric(key, metric, space)
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
