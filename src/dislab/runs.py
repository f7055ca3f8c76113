"""Run folders: where a run keeps what it made, and how it is read back.

A run lies in `<root>/<name>/version_<k>/` with `config.yaml`, `checkpoints/`, `scores.json`,
`metrics.csv`, TensorBoard events and `images/`.
"""

import json
import re
import sys
from collections.abc import Mapping
from contextvars import Context
from pathlib import Path
from platform import python_version
from typing import Any, Literal, cast

import torch
from jsonargparse import ArgumentParser
from lightning.pytorch import Trainer

from dislab import plugins
from dislab.base.objective import Objective
from dislab.builders import version_of
from dislab.errors import InputError
from dislab.storage import atomic, json_text, locked

ScoreStage = Literal[
    "validate",
    "test",
    "validate_concepts",
    "test_concepts",
    "validate_transfer",
    "test_transfer",
    "test_generalisation",
]
"""The command that made a record of scores, and of which kind when it is not of codes."""

Record = dict[str, Any]
"""Numbers, strings, lists and dictionaries, as JSON knows them."""

SCORES = "scores.json"

LAST = Path("checkpoints", "last.ckpt")
"""Where in a run folder the state lies that training goes on from."""


def last_checkpoint(trainer: Trainer) -> Path | None:
    """Where a trainer keeps the state to go on from; None when it keeps no checkpoints.

    Args:
        trainer: The trainer at work.
    """
    kept = getattr(trainer.checkpoint_callback, "dirpath", None)
    return Path(kept, LAST.name) if kept else None


def new_run(root: str | Path, name: str) -> Path:
    """A new empty run folder `<root>/<name>/version_<k>`, with k above all that exist.

    Processes that ask at the same time get folders of their own.

    Args:
        root: The folder of all runs; made when missing.
        name: What the run is called.

    Raises:
        InputError: The name is no plain folder name, or the folder cannot be made.
    """
    if not re.fullmatch(r"\w[\w.+=,-]*", name):
        raise InputError(
            f"{name!r} cannot name a run; use letters, digits and . _ + = , - without slashes"
        )
    parent = Path(root, name)
    try:
        parent.mkdir(parents=True, exist_ok=True)
        number = 1 + max((_number(folder) for folder in parent.iterdir()), default=-1)
        while True:
            run = parent / f"version_{number}"
            try:
                run.mkdir()
            except FileExistsError:
                number += 1
            else:
                return run
    except OSError as error:
        raise InputError(
            f"no run folder can be made in {parent}: {error.strerror}; choose another root folder"
        ) from error


def checkpoint_of(run: str | Path) -> Path:
    """The checkpoint to go on from: the last one of a run folder, or the file itself.

    In a run folder the newest `last.ckpt` wins; without one, the newest checkpoint of any name.

    Args:
        run: A run folder, its folder of checkpoints, or a checkpoint file.

    Raises:
        InputError: There is none; the message lists what is there instead.
    """
    run = Path(run)
    if run.is_file():
        return run
    if not run.is_dir():
        raise InputError(f"{run} does not exist; give a run folder or a checkpoint file")
    folder = run / "checkpoints" if (run / "checkpoints").is_dir() else run
    found = sorted(folder.glob("*.ckpt"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    last = [path for path in found if re.fullmatch(r"last(-v\d+)?", path.stem)]
    if not found:
        there = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
        raise InputError(
            f"there is no checkpoint in {folder}, only: {there}; give the folder of one run, such "
            "as runs/name/version_0, or a .ckpt file"
        )
    return (last or found)[-1]


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
            f"{path} does not fit {cls.__name__} as it is installed now: {_short(error)}"
        ) from error
    return module.eval()


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """What a checkpoint file holds, with its tensors on the CPU and read when they are used.

    Args:
        path: The file.

    Raises:
        InputError: It is missing, damaged, holds anything but tensors and plain data, or is of
            no training run.
    """
    if not Path(path).is_file():
        raise InputError(f"there is no checkpoint {path}; give a .ckpt file of a run")
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # torch.load raises half a dozen types for a damaged file
        raise InputError(
            f"{path} cannot be read as a checkpoint: it is damaged, of another program, or holds "
            f"objects that are no plain numbers ({_short(error)})"
        ) from error
    missing = {"state_dict", "global_step", "pytorch-lightning_version"} - set(
        stored if isinstance(stored, dict) else ()
    )
    if missing:
        raise InputError(
            f"{path} is no checkpoint of a training run: it lacks {', '.join(sorted(missing))}; "
            "give a .ckpt file of a run"
        )
    return cast("dict[str, Any]", stored)


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


def write_scores(run: str | Path, stage: ScoreStage, record: Record) -> Path:
    """Writes a record of scores under its stage in `scores.json`, and returns that file's path.

    The records of other stages stay. The file is replaced in one move, so that it is never seen
    half-written. Numbers that are not finite become null.

    Args:
        run: The run folder; made when missing.
        stage: The command that made the record; an older record of the same one is replaced.
        record: What to write.

    Raises:
        InputError: The file is there but is no JSON object, or cannot be written.
    """
    path = Path(run, SCORES)
    with locked(path):
        records = read_scores(run) if path.exists() else {}
        with atomic(path) as temporary:
            temporary.write_text(json_text({**records, stage: record}), encoding="utf-8")
    return path


def read_scores(run: str | Path) -> dict[str, Record]:
    """The records of `scores.json`, by stage.

    Args:
        run: The run folder.

    Raises:
        InputError: The file is missing, or is no JSON object.
    """
    path = Path(run, SCORES)
    if not path.is_file():
        raise InputError(f"{path.parent} has no {SCORES}; `dislab validate` or `test` writes one")
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(
            f"{path} is no JSON ({error}); delete it and score the run again"
        ) from error
    if not isinstance(records, dict):
        raise InputError(f"{path} holds no JSON object; delete it and score the run again")
    return records


def versions() -> dict[str, str]:
    """Versions of what a number may depend on, by distribution; PyTorch's with its build."""
    names = ("dislab", "torch", "lightning", "numpy", "scikit-learn")
    return {name: version_of(name) for name in names} | {"python": python_version()}


def _number(folder: Path) -> int:
    match = re.fullmatch(r"version_(\d+)", folder.name)
    return int(match[1]) if match else -1


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


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
