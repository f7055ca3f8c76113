"""Configuration files: those that a command reads, and the copy in a run folder."""

import hashlib
import inspect
import json
import os
import re
from collections.abc import Container, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from jsonargparse import Namespace
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.utilities import rank_zero_info

from dislab.base import offered
from dislab.callbacks import (
    Checkpoints,
    Evaluate,
    Generalisation,
    InnerSteps,
    Interpolations,
    Progress,
    Reconstructions,
    Representations,
    Samples,
    ScoreCurves,
    StopOnSignal,
    TransferScores,
    Traversals,
)
from dislab.callbacks._trainer import run_folder
from dislab.cli.messages import print_warning
from dislab.errors import InputError
from dislab.runs import CONFIG, SCORES
from dislab.runs.records import OTHER_DATA
from dislab.storage import atomic, locked
from dislab.study.comparison import flat_settings
from dislab.study.identity import path_is_data
from dislab.yaml_files import parse_yaml, read_text, yaml_text

_SHOWN: Final = 4
"""Changed settings that a resumed run names."""
CALLBACKS: Final[dict[str, type[Callback]]] = {
    "progress": Progress,
    "checkpoint": Checkpoints,
    "score_curves": ScoreCurves,
    "evaluate": Evaluate,
    "transfer": TransferScores,
    "generalisation": Generalisation,
    "reconstructions": Reconstructions,
    "traversals": Traversals,
    "samples": Samples,
    "interpolations": Interpolations,
    "representations": Representations,
    "stop_on_signal": StopOnSignal,
    "inner_steps": InnerSteps,
}
"""Callbacks of every run, by the section of a configuration that holds their settings."""

SECTIONS: Final = (
    "trainer",
    *(name for name, callback in CALLBACKS.items() if inspect.signature(callback).parameters),
)
"""Sections of a configuration that hold the settings of a fixed class."""

CHANGEABLE: Final = (
    *SECTIONS,
    "method",
    "pictures",
    "logger",
    "representations",
    "stop_on_signal",
    "keep_freed_memory",
    "channels_last",
    "report",
    "then_test",
)
"""Sections of a configuration that a resumed run may change."""

_CHANGEABLE_OF_DATA: Final = tuple(
    f"data.init_args.{name}"
    for name in (
        "residency",
        "num_workers",
        "eval_batch_size",
        "dataset.init_args.path",
        "dataset.init_args.folder",
        "dataset.init_args.download",
    )
)
"""Data settings for the location and loading of images, which do not change the images."""

_NOT_OF_IMAGES: Final = (
    "residency",
    "num_workers",
    "batch_size",
    "eval_batch_size",
    "steps_per_epoch",
    "dataset.download",
)
"""Data settings that do not decide which images a command scores or encodes."""


def header() -> list[str]:
    """First lines of every written configuration: the versions that wrote it."""
    return [f"{name}=={version(name)}" for name in ("dislab", "lightning")]


def flat(settings: Any) -> dict[str, Any]:
    """Flat model settings by dotted names, without those taken from the data."""
    return _flat(settings, "", offered())


def _flat(settings: Any, prefix: str, from_data: Container[str]) -> dict[str, Any]:
    flattened: dict[str, Any] = {}
    for key, value in (settings.as_dict() if hasattr(settings, "as_dict") else settings).items():
        # a checkpoint's settings arrive as keyword arguments of the class
        name = prefix if key in ("init_args", "dict_kwargs") else f"{prefix}{key}."
        if isinstance(value, dict) or hasattr(value, "as_dict"):
            flattened |= _flat(value, name, from_data)
        elif key == "class_path":  # one class may have several import paths
            flattened[f"{prefix}class"] = value.rpartition(".")[2]
        elif key not in from_data:
            flattened[name.rstrip(".")] = tuple(value) if isinstance(value, list) else value
    return flattened


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Old and new values of settings that differ between two configurations, by dotted names."""
    differing: dict[str, tuple[Any, Any]] = {}
    for key in dict.fromkeys([*old, *new]):
        before, after = old.get(key), new.get(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            inner = changes(before, after)
            differing |= {f"{key}.{name}": values for name, values in inner.items()}
        elif before != after:
            differing[key] = (before, after)
    return differing


def changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Sections of the configuration that a resumed run changes.

    A new path of own images is taken, as they may have moved, with a warning.

    Raises:
        InputError: A setting that the run cannot change differs; the message lists those it can.
    """
    sections = {}
    for name, (before, after) in changes(old, new).items():
        section = name.partition(".")[0]
        if section not in CHANGEABLE and not name.startswith(_CHANGEABLE_OF_DATA):
            raise InputError(
                f"{name} is {after!r} here and {before!r} in the run, which cannot change it when "
                "it goes on; leave it out, or start a new run. A run can change its "
                f"{', '.join(CHANGEABLE)}, and where data.dataset lies"
            )
        is_path = section == "data" and name.endswith((".path", ".folder"))
        if is_path and path_is_data(new["data"]["init_args"]["dataset"]):
            print_warning(
                f"{name} is {after!r} here and {before!r} in the run, which goes on with the "
                "images there: they must be the same"
            )
        sections[section] = new[section]
    return sections


def with_absolute_paths(config: Namespace) -> Namespace:
    """A copy of the settings of a command in which own data and earlier runs have absolute paths.

    So the file of a run repeats it from any folder. These are the files and folders of data sets,
    run folders among the settings of a model, and the checkpoint to start from, where they exist; a
    table or an array that is named relative to its data set stays so.
    """
    copied = config.clone()
    data: Any = copied.get("data.init_args.dataset.init_args") or {}
    for name in ("path", "folder", "background", *(() if "folder" in data else ("file",))):
        _make_absolute(data, name)  # the `file` of a folder is a column of its table
    model: Any = copied.get("model.init_args")
    for name, value in vars(model).items() if model else ():
        if isinstance(value, str) and Path(value, CONFIG).is_file():
            _make_absolute(model, name)
    _make_absolute(copied, "ckpt_path")
    return copied


def _make_absolute(settings: Any, name: str) -> None:
    """Makes a path absolute if it exists; others, such as names on the Hub, stay as they are."""
    value = settings.get(name)
    if isinstance(value, str) and (path := Path(value).expanduser()).exists():
        settings[name] = os.path.abspath(path)


def images_of(section: Mapping[str, Any]) -> dict[str, Any]:
    """Flat settings of the section `data` that decide which images a command scores or encodes."""
    part = (section.get("init_args") or {}).get("dataset") or section
    places = () if path_is_data(part) else ("dataset.path", "dataset.folder")
    unused = {*_NOT_OF_IMAGES, *places}
    return {
        name: parameter for name, parameter in flat_settings(section).items() if name not in unused
    }


def name_of_data(images: Mapping[str, Any]) -> str:
    """A folder name for the result of `images_of`: data set, file, and a digest of all settings."""
    words = [str(images.get("dataset") or images[""])]
    paths = (images.get(f"dataset.{name}") for name in ("file", "folder", "path"))
    words += [re.sub(r"\W+", "_", Path(str(path)).stem)[:40] for path in paths if path][:1]
    digest = hashlib.sha256(json.dumps(images, sort_keys=True, default=str).encode()).hexdigest()
    return "-".join([*words, digest[:8]])


class KeepConfig(Callback):
    """Writes the complete configuration of a run to `config.yaml`.

    When a run is resumed with changed settings, a new file is written once all checks have passed;
    the old one is kept in the same folder, named after the step at which the settings changed. So
    are the scores of a run that trains on, which would be taken for those of its later weights.

    Args:
        text: Text of the file of a new run; empty for a resumed run.
        settings: The sections that a resumed run changes.
        step: Optimiser steps that the resumed run has completed.
    """

    def __init__(self, text: str, settings: Mapping[str, Any], step: int = 0) -> None:
        self._text = text
        self._settings = settings
        self._step = step

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Writes the file of a new run before training starts."""
        if self._text and trainer.is_global_zero:
            _write(run_folder(trainer) / CONFIG, self._text)
        self._text = ""

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Updates the file of a resumed run, and sets its scores aside."""
        self.renew(trainer)
        if not self._step or not trainer.is_global_zero:
            return
        folder = run_folder(trainer)
        for scores in (folder / SCORES, *folder.glob(f"{OTHER_DATA}/*/{SCORES}")):
            if scores.is_file():
                kept = scores.with_stem(f"{scores.stem}_until_step_{self._step}")
                with locked(scores):
                    scores.replace(kept)
                rank_zero_info(f"Scores up to step {self._step} were moved to {kept.name}")

    def renew(self, trainer: Trainer) -> None:
        """Replaces the file if a setting has changed; every process must call this."""
        path = run_folder(trainer) / CONFIG
        if not self._settings or not trainer.is_global_zero:
            return
        text = read_text(path)
        old = parse_yaml(text, str(path))
        new = {**old, **self._settings}
        self._settings = {}
        if new != old:
            kept = path.with_name(f"config_until_step_{self._step}.yaml")
            _write(kept, text)
            settings = [f"{name} {a} → {b}" for name, (a, b) in changes(old, new).items()]
            if more := settings[_SHOWN:]:
                settings[_SHOWN:] = [f"and {len(more)} more"]
            rank_zero_info(f"Changed settings: {', '.join(settings)}; {kept.name} has the old ones")
            first = "".join(f"# {line}\n" for line in header())
            _write(path, first + yaml_text(new))


def _write(path: Path, text: str) -> None:
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
