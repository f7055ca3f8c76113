"""Transfer scores of finished runs."""

import argparse
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import jsonargparse
from lightning.pytorch import Trainer

from dislab import plugins
from dislab.base import DataModule
from dislab.base.named_classes import ForeignNameError
from dislab.base.rebuilding import made
from dislab.callbacks import TransferScores
from dislab.cli.messages import explain
from dislab.errors import InputError
from dislab.runs import CONFIG, checkpoint_of, load_run
from dislab.storage import check_output
from dislab.transfer import Transfer, made_for, shipped
from dislab.transfer.choices import builders
from dislab.transfer.transfer_table import transfer_table
from dislab.yaml_files import read_mapping

_NOT_THE_USERS: Final = (
    "Be aware that when using `ckpt_path`, callbacks used to create the checkpoint",
    "The '.*_dataloader' does not have many workers",
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",  # Lightning 2.6 beside torch 2.13
    r"Found .* module\(s\) in eval mode",  # a frozen model inside another one
)
"""Warnings that a user of the command can do nothing about."""


def score_runs(options: argparse.Namespace) -> None:
    """Scores each run, writes its scores.json, and prints all side by side.

    Args:
        options: What the command line says.

    Raises:
        InputError: A run, a scenario or a predictor cannot be used.
    """
    plugins.load_all(plugins.PARTS)
    with _quiet():
        found = {one: _scored(Path(one), options) for one in dict.fromkeys(options.runs)}
    if len(found) > 1:
        print(f"\n{transfer_table(found)}")


@contextmanager
def _quiet() -> Iterator[None]:
    """Leaves out what is no news to a user: Lightning's warnings, and which devices there are."""
    loggers = [
        logging.getLogger(f"lightning.pytorch.utilities.{name}") for name in ("rank_zero", "setup")
    ]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        for message in _NOT_THE_USERS:
            warnings.filterwarnings("ignore", message)
        for logger in loggers:
            logger.setLevel(logging.WARNING)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


def _scored(folder: Path, options: argparse.Namespace) -> Transfer:
    config = _config(folder)
    check_output("scores.json", folder / "scores.json", [])
    module = load_run(folder)
    if not module.has_codes:
        raise InputError(f"{folder} is a run of {type(module).__name__}, which makes no codes")
    data = _data(folder, config)
    scores = TransferScores(
        options.scenarios or _suitable(data),
        builders(options.predictors, options.seed),
        options.labels,
        options.tested,
        options.batch_size,
        options.seed,
        options.reconstructions,
        options.baselines,
    )
    settings = config.get("trainer") or {}
    trainer = Trainer(
        accelerator=settings.get("accelerator") or "auto",
        precision=settings.get("precision"),
        devices=1,
        callbacks=[scores],
        limit_test_batches=1,  # the losses are not asked for
        limit_val_batches=1,
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
        default_root_dir=folder,
    )
    judge = trainer.test if len(data.indices("test")) else trainer.validate
    checkpoint = checkpoint_of(folder)
    judge(module, datamodule=data, ckpt_path=checkpoint, verbose=False, weights_only=True)
    assert scores.found is not None
    return scores.found


def _config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    if not path.is_file():
        raise InputError(
            f"{folder} is no run: it has no {CONFIG}; runs lie in runs/. Codes of another "
            "program are scored with --codes"
        )
    config = read_mapping(path, "data: {class_path: SingleData}")
    if "data" not in config:
        raise InputError(f"{path} does not say what data the run was trained on")
    return config


def _data(folder: Path, config: dict[str, Any]) -> DataModule:
    try:
        data: DataModule = made(DataModule, config["data"], "data")
    except ForeignNameError as error:
        raise InputError(f"{folder / 'config.yaml'}: {error}") from error
    except InputError:
        raise
    except (jsonargparse.ArgumentError, ValueError) as error:
        raise InputError(f"{folder / 'config.yaml'}: {explain(str(error), ['data'])}") from error
    return data


def _suitable(data: DataModule) -> list[str]:
    name = type(data.dataset).__name__
    if not (suitable := [one.name for one in made_for(name)]):
        raise InputError(
            f"no scenario that comes with dislab was made for {name}; name some by --scenarios: "
            f"YAML files of your own, or {', '.join(shipped())}"
        )
    return suitable
