"""A trained model inside another model."""

import json
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn

from dislab.base import ImageShape, Objective
from dislab.errors import InputError
from dislab.plugins import configuration
from dislab.runs import from_settings, load_run, settings_of

Source = str | dict[str, str]
"""A run folder, or the value of `Frozen.stored`."""

_KEY: Final = "settings"


class Frozen(nn.Module):
    """The trained objective of a run, in evaluation mode and with frozen weights.

    The weights and the settings of the inner model become part of the outer model, so that a run of
    the outer model needs no other folder. `source` is a run folder, or the value of `stored` in a
    checkpoint; `what` names the run in messages. A missing run and another image shape are refused.
    """

    trained: Tensor

    def __init__(self, source: Source, what: str, image_shape: ImageShape) -> None:
        super().__init__()
        self.model = _loaded(source, what)
        self.model.eval().requires_grad_(False)
        self.model.checks_pixels = False  # its images may come from a decoder, on any device
        self.what = what
        self.register_buffer("trained", torch.tensor(isinstance(source, str)))
        self.stored: Source = {_KEY: json.dumps(settings_of(self.model))}
        shape = tuple(self.model.hparams.get("image_shape", image_shape))
        if shape != tuple(image_shape):
            raise InputError(
                f"the {what} run was trained on images of {_by(shape)}, and the data have "
                f"{_by(image_shape)}; use the same data for both, or train {what} again"
            )

    def check(self) -> None:
        """Refuses settings without weights; called after a checkpoint, if any, has been loaded."""
        if not self.trained:
            raise InputError(
                f"{self.what} holds settings without weights, as the configuration of a resumed "
                f"run does; to train afresh, name the folder of a {self.what} run"
            )

    def train(self, mode: bool = True) -> "Frozen":
        """Keeps evaluation mode."""
        return super().train(False)


def _loaded(source: Source, what: str) -> Objective:
    try:
        if isinstance(source, str):
            return load_run(source)
        return from_settings(_settings(source))
    except InputError as error:
        remedy = _training(source) if isinstance(source, str) else ""
        raise InputError(f"the {what} run cannot be used: {error}{remedy}") from error


def _training(run: str) -> str:
    """The command that trains a missing run, as the end of a message; empty if there is none."""
    method = Path(run).parent.name
    if Path(run).exists() or configuration(method) is None:
        return ""
    return f"; train it first: dislab fit --config {method}"


def _settings(source: dict[str, str]) -> dict[str, Any]:
    """The settings of the inner model, from a checkpoint of the outer one."""
    try:
        settings = json.loads(source[_KEY])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"its stored settings cannot be read: {error!r}") from error
    if not isinstance(settings, dict):
        raise InputError(f"its stored settings are {settings!r}, and no dictionary")
    return settings


def _by(shape: tuple[Any, ...]) -> str:
    return "×".join(str(size) for size in shape)
