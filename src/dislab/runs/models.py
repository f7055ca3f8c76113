"""Models that come back from run folders and stored settings."""

import sys
from collections.abc import Mapping
from contextvars import Context
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser

from dislab import plugins
from dislab.base.objective import Objective
from dislab.errors import InputError
from dislab.runs.checkpoints import read_checkpoint, short
from dislab.runs.folders import checkpoint_of
from dislab.runs.records import Record


def load_run(run: str | Path) -> Objective:
    """The trained objective of a run, on the CPU and in evaluation mode.

    Nothing but tensors, numbers, strings and containers is read from the file. The objective must
    be one that an installed distribution declares, or that is already imported.

    Args:
        run: A run folder, or a checkpoint file.

    Raises:
        InputError: There is no checkpoint, or it is damaged, holds foreign objects, was made by a
            class that is not installed, or does not fit that class any more.
    """
    path = checkpoint_of(run)
    plugins.load_all()
    stored = read_checkpoint(path)
    hparams = stored.get("hyper_parameters") or {}
    cls = _objective_class(hparams.get("_class_path"), path)
    try:
        module = _build(cls, hparams)
        module.on_load_checkpoint(stored)
        module.load_state_dict(stored["state_dict"])
    except (Exception, SystemExit) as error:  # what a constructor of a third party may raise
        raise InputError(
            f"{path} does not fit {cls.__name__} as it is installed now: {short(error)}"
        ) from error
    return module.eval()


def rebuild(module: Objective) -> Objective:
    """A new objective with the settings of another one, and weights drawn anew.

    Args:
        module: An objective that saved its hyperparameters.
    """
    return _build(type(module), module.hparams)


def settings_of(module: Objective) -> Record:
    """What `from_settings` builds the same objective from: plain data, without weights.

    Args:
        module: An objective that saved its hyperparameters.
    """
    return {**module.hparams, "_class_path": f"{type(module).__module__}.{type(module).__name__}"}


def from_settings(settings: Mapping[str, Any]) -> Objective:
    """An objective of given settings, with weights drawn anew.

    Args:
        settings: What `settings_of` returned.

    Raises:
        InputError: The class is not installed.
    """
    plugins.load_all()
    return _build(_objective_class(settings.get("_class_path"), Path("the model")), settings)


def _objective_class(class_path: object, path: Path) -> type[Objective]:
    if not isinstance(class_path, str):
        raise InputError(f"{path} was not written by a dislab run: it does not name its objective")
    module, _, name = class_path.rpartition(".")
    found = getattr(sys.modules.get(module), name, None)
    if not (isinstance(found, type) and issubclass(found, Objective)):
        raise InputError(
            f"{path} was made by the objective {class_path}, which no installed distribution "
            "declares; install the one that does, or import that module first"
        )
    return found


def _build(cls: type[Objective], hparams: Mapping[str, Any]) -> Objective:
    """An objective from its stored arguments; what else is stored with them starts with _."""
    arguments = {name: value for name, value in hparams.items() if not name.startswith("_")}
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(cls, "objective", fail_untyped=False)

    def build() -> Objective:
        built: Objective = parser.instantiate(
            parser.parse_object({"objective": arguments})
        ).objective
        return built

    # In a context of its own: inside the command line's, Lightning would store the settings of the
    # outer model as those of every model that is built meanwhile.
    return Context().run(build)
