"""Exported models, independent of their runs: weights as safetensors, and settings.

Such a folder contains `model.safetensors`, with tensors only, and `model.yaml`, with the class of
the method and its arguments. Neither file contains code.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from dislab.base.objective import Objective
from dislab.errors import InputError, one_line
from dislab.extras import imported
from dislab.naming.builders import version_of
from dislab.naming.rebuilding import settings_in
from dislab.runs.published import without_paths
from dislab.storage import atomic
from dislab.yaml_files import read_mapping, yaml_text

WEIGHTS: Final = "model.safetensors"
SETTINGS: Final = "model.yaml"

_FORMAT: Final = 1
"""Format version of `model.yaml`; increases with each change of the layout."""
_PURPOSE: Final = "a model in safetensors"


def is_exported(path: str | Path) -> bool:
    """Whether a path is a folder with an exported model."""
    return Path(path, SETTINGS).is_file()


def write_exported(model: Objective, folder: Path, half: bool = False) -> None:
    """Writes weights and settings of a model, from which `load_run` rebuilds it.

    Args:
        model: An objective that saved its hyperparameters.
        folder: The folder; created if missing.
        half: Whether to store weights in half precision (float16), which takes half the space.

    Raises:
        InputError: safetensors is not installed, a file cannot be written, or a weight is too
            large for half precision.
    """
    save = imported("safetensors.torch", "safetensors", _PURPOSE).save
    tensors = {name: _stored(name, tensor, half) for name, tensor in model.state_dict().items()}
    cls = type(model)
    record = {
        "format": _FORMAT,
        "dislab": version_of("dislab"),
        "objective": f"{cls.__module__}.{cls.__qualname__}",
        "arguments": without_paths(settings_in(model.hparams)),
    }
    with atomic(folder / WEIGHTS) as temporary:
        # the library's own writer creates files that only their owner can read
        temporary.write_bytes(save(tensors, metadata={"format": "pt"}))
    with atomic(folder / SETTINGS) as temporary:
        temporary.write_text(yaml_text(record), encoding="utf-8")


def read_exported(folder: Path) -> dict[str, Any]:
    """Reads weights and settings of an exported model, under the keys of a checkpoint.

    Raises:
        InputError: A file is missing or damaged, or safetensors is not installed.
    """
    path = folder / SETTINGS
    record = read_mapping(path, "objective: dislab.objectives.vae.VAE")
    if record.get("format") != _FORMAT:
        raise InputError(
            f"{path} has the format {record.get('format')!r}, and this dislab reads {_FORMAT}; "
            "install a newer dislab, or export the model again"
        )
    arguments = record.get("arguments")
    if not isinstance(arguments, Mapping):
        raise InputError(f"{path} holds no arguments of the model; export the model again")
    hparams = {**settings_in(arguments), "_class_path": record.get("objective")}
    return {"hyper_parameters": hparams, "state_dict": _weights(folder / WEIGHTS)}


def _stored(name: str, tensor: Tensor, half: bool) -> Tensor:
    """A tensor in the form to store: a copy, as safetensors rejects shared memory."""
    tensor = tensor.detach().cpu()
    stored = tensor.half() if half and tensor.is_floating_point() else tensor
    if torch.isfinite(tensor).all() and not torch.isfinite(stored).all():
        raise InputError(
            f"{name} holds {tensor.abs().max():.3g}, too large for half precision; export without "
            "--half"
        )
    return stored.clone(memory_format=torch.contiguous_format)


def _weights(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise InputError(f"{path.parent} has no {path.name}; it is no complete export")
    library = imported("safetensors", "safetensors", _PURPOSE)
    load_file = imported("safetensors.torch", "safetensors", _PURPOSE).load_file
    try:
        weights: dict[str, Tensor] = load_file(path)
    except (library.SafetensorError, OSError) as error:
        raise InputError(f"{path} is damaged, or no safetensors: {one_line(error)}") from error
    return weights
