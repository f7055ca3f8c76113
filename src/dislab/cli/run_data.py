"""Configuration, data and device of a finished run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import jsonargparse
import torch
from lightning.fabric import Fabric
from lightning.pytorch.plugins import Precision

from dislab.base import DataModule, Objective
from dislab.base.inference import precision_of
from dislab.base.named_classes import ForeignNameError
from dislab.base.rebuilding import made
from dislab.cli.messages import explain
from dislab.errors import InputError
from dislab.runs import CONFIG, checkpoint_of, read_checkpoint
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


def placed(
    folder: Path, model: Objective, trainer: Mapping[str, Any]
) -> tuple[Objective, Precision]:
    """The model of a run on the device of the run's settings, and their precision.

    Args:
        folder: The run folder.
        model: The model, on the CPU.
        trainer: The section `trainer` of the configuration.
    """
    device = Fabric(accelerator=trainer.get("accelerator") or "auto", devices=1).device
    precision = precision_of(trainer.get("precision"), device)
    model = cast("Objective", precision.convert_module(model)).to(device)
    if model.dtype == torch.float64:  # the weights were read in single precision
        model.load_state_dict(read_checkpoint(checkpoint_of(folder))["state_dict"])
    return model, precision
