"""Configuration files: the one that a run keeps, and those that a command reads."""

import argparse
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import yaml
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.cli import SaveConfigCallback

from dislab.base import LINKS
from dislab.errors import InputError
from dislab.runs import checkpoint_of, read_checkpoint
from dislab.storage import atomic

_WRITTEN_BY: Final = "# dislab=="


def header() -> list[str]:
    """First lines of every configuration that is written: the versions that wrote it."""
    return [f"{name}=={version(name)}" for name in ("dislab", "lightning")]


def written_elsewhere(args: Sequence[str]) -> str:
    """A sentence on the configurations that another version of dislab wrote; empty if none.

    Args:
        args: What follows the command.
    """
    named = _named(args)
    paths = [*named.config, *([named.folder / "config.yaml"] if named.folder else [])]
    here = version("dislab")
    for path in paths:
        try:
            with path.open(encoding="utf-8") as file:
                first = file.readline().strip()
        except (OSError, UnicodeDecodeError):
            continue
        there = first.removeprefix(_WRITTEN_BY)
        if first.startswith(_WRITTEN_BY) and there != here:
            return (
                f"{path} was written by dislab {there}, and this is {here}: see CHANGELOG.md for "
                "settings that changed"
            )
    return ""


def of_run(args: Sequence[str]) -> list[str]:
    """The arguments, preceded by the configuration and checkpoint of the run that they name.

    Args:
        args: What follows the command.

    Raises:
        InputError: There is no such run.
    """
    folder = _named(args).folder
    if folder is None:
        return list(args)
    config = folder / "config.yaml"
    if not config.is_file():
        raise InputError(f"{folder} is no run: it has no config.yaml; runs lie in runs/")
    return [f"--config={config}", f"--ckpt_path={checkpoint_of(folder)}", *args]


def _named(args: Sequence[str]) -> argparse.Namespace:
    """The files and folders that the arguments name."""
    named = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    named.add_argument("--run", "--resume", type=Path, dest="folder")
    named.add_argument("--config", "-c", type=Path, action="append", default=[])
    return named.parse_known_args(args)[0]


def flat(settings: Any, prefix: str = "") -> dict[str, Any]:
    """Settings of a model by their dotted names, without those that come from the data.

    Args:
        settings: Nested settings, as a parser or a checkpoint holds them.
        prefix: What the names begin with.
    """
    found: dict[str, Any] = {}
    for key, value in (settings.as_dict() if hasattr(settings, "as_dict") else settings).items():
        # a checkpoint's settings arrive as keyword arguments of the class
        name = prefix if key in ("init_args", "dict_kwargs") else f"{prefix}{key}."
        if isinstance(value, dict) or hasattr(value, "as_dict"):
            found |= flat(value, name)
        elif key == "class_path":  # the same class may be written by several paths
            found[f"{prefix}class"] = value.rpartition(".")[2]
        elif key not in LINKS:
            found[name.rstrip(".")] = tuple(value) if isinstance(value, list) else value
    return found


class SaveConfig(SaveConfigCallback):
    """Keeps the complete configuration of a run; scoring a finished one leaves it alone.

    A run that goes on with other settings gets a new `config.yaml`; the old one is kept beside it
    under the step at which it ended.
    """

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Writes `config.yaml`.

        Args:
            trainer: The trainer at work.
            pl_module: The objective.
            stage: fit, validate, test or predict.
        """
        config = self.config.clone()
        if config.get("run") is not None:
            return
        if config.get("resume") is None:
            super().setup(trainer, pl_module, stage)
        elif trainer.is_global_zero and not self.already_saved:
            self.already_saved = True
            step = int(read_checkpoint(config["ckpt_path"])["global_step"])
            config["resume"] = config["ckpt_path"] = None
            self._renew(Path(str(trainer.log_dir), self.config_filename), config, step)

    def _renew(self, path: Path, config: Any, step: int) -> None:
        text = self.parser.dump(config, skip_none=False)
        old = path.read_text(encoding="utf-8")
        if yaml.safe_load(text) == yaml.safe_load(old):
            return
        with atomic(path.with_name(f"config_until_step_{step}.yaml")) as temporary:
            temporary.write_text(old, encoding="utf-8")
        with atomic(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
