"""Configuration and data of a finished run."""

from pathlib import Path
from typing import Any

import jsonargparse

from dislab.base import DataModule
from dislab.base.named_classes import ForeignNameError
from dislab.base.rebuilding import made
from dislab.cli.messages import explain
from dislab.errors import InputError
from dislab.runs import CONFIG
from dislab.yaml_files import read_mapping


def run_config(folder: Path, advice: str = "") -> dict[str, Any]:
    """The configuration of a run, which names its training data.

    Args:
        folder: The run folder.
        advice: Another possible intention of the user, for the message.

    Raises:
        InputError: It is no run folder, or the file is damaged.
    """
    path = folder / CONFIG
    if not path.is_file():
        raise InputError(f"{folder} is no run: it has no {CONFIG}; runs lie in runs/{advice}")
    config = read_mapping(path, "data: {class_path: SingleData}")
    if "data" not in config:
        raise InputError(f"{path} does not say what data the run was trained on")
    return config


def run_data(folder: Path, config: dict[str, Any]) -> DataModule:
    """The data module of a run, not yet prepared.

    Args:
        folder: The run folder, for messages.
        config: Its configuration.

    Raises:
        InputError: The configuration names another class, or wrong settings.
    """
    try:
        data: DataModule = made(DataModule, config["data"], "data")
    except ForeignNameError as error:
        raise InputError(f"{folder / CONFIG}: {error}") from error
    except InputError:
        raise
    except (jsonargparse.ArgumentError, ValueError) as error:
        raise InputError(f"{folder / CONFIG}: {explain(str(error), ['data'])}") from error
    return data
