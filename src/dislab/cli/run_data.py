"""Loads the data of a finished run, with error messages for the command line."""

from pathlib import Path
from typing import Any

import jsonargparse

from dislab.base import DataModule
from dislab.cli.messages import explain
from dislab.errors import InputError
from dislab.runs import CONFIG
from dislab.runs.opened import configured_data, placed, run_config

__all__ = ["placed", "run_config", "run_data"]


def run_data(folder: Path, config: dict[str, Any]) -> DataModule:
    """The data module of a run, not yet prepared.

    Raises:
        InputError: The configuration names a class that is not allowed, or invalid settings.
    """
    try:
        return configured_data(folder, config)
    except InputError:
        raise
    except (jsonargparse.ArgumentError, ValueError) as error:
        raise InputError(f"{folder / CONFIG}: {explain(str(error), ['data'])}") from error
