"""Loggers that send the log of a run to TensorBoard, Weights & Biases or MLflow."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from lightning.pytorch.loggers import Logger, MLFlowLogger, TensorBoardLogger, WandbLogger

from dislab.errors import InputError, one_line
from dislab.extras import imported
from dislab.storage import atomic, read_json

LoggerName: TypeAlias = Literal["tensorboard", "wandb", "mlflow", "csv", "none"]
"""Values of `--logger`. With `csv` and `none` a run writes only its own `metrics.csv`."""

IDENTITY: Final = "logger.json"
"""File in the run folder with the run's identifier at W&B or MLflow, for resuming."""

_PROJECT: Final = "dislab"
"""Default name of the W&B project and the MLflow experiment, unless set in the environment."""


class _Wandb(WandbLogger):
    """A W&B run with the configuration as its only settings, without Lightning's second copy."""

    def log_hyperparams(self, params: Any) -> None:
        """Leave the settings to the configuration."""


class _MLflow(MLFlowLogger):
    """An MLflow run with the configuration as its only parameters, as MLflow allows no changes."""

    def log_hyperparams(self, params: Any) -> None:
        """Leave the settings to the configuration."""


def check_logger(name: LoggerName, logger: object) -> None:
    """Checks the setting `logger` before a run folder is created.

    Args:
        name: Value of `logger`.
        logger: Value of `trainer.logger`.

    Raises:
        InputError: The package is missing, or `trainer.logger` asks for another logger.
    """
    if logger is not None and logger is not True and name != "tensorboard":
        raise InputError(
            f"logger is {name!r}, and trainer.logger sets loggers too; leave one of the two out"
        )
    if name in ("wandb", "mlflow"):
        imported(name, name, f"--logger {name}")


def named_logger(
    name: LoggerName,
    folder: Path,
    root: Path,
    settings: Mapping[str, Any],
    purge_step: int | None = None,
) -> tuple[list[Logger], Callable[[], None]]:
    """The logger of a run, and a function that closes it at the end of the command.

    If the run folder has an identifier of W&B or MLflow, logging continues in the same run there.
    Call this in the first process only.

    Args:
        name: Value of `logger`.
        folder: The run folder.
        root: Folder of all runs, for the local files of W&B and MLflow.
        settings: The complete configuration of the run, which W&B and MLflow keep.
        purge_step: TensorBoard hides rows of this step and later ones; None for none.

    Raises:
        InputError: W&B or MLflow is missing or refuses the run.
    """
    if name == "tensorboard":
        return [TensorBoardLogger(folder, name="", version="", purge_step=purge_step)], _nothing
    if name == "wandb":
        return _wandb(folder, root, settings)
    if name == "mlflow":
        return [_mlflow(folder, root, settings)], _nothing
    return [], _nothing


def _wandb(
    folder: Path, root: Path, settings: Mapping[str, Any]
) -> tuple[list[Logger], Callable[[], None]]:
    wandb = imported("wandb", "wandb", "--logger wandb")
    root.mkdir(parents=True, exist_ok=True)
    logger = _Wandb(
        name=_title(folder),
        save_dir=root,
        version=_identity(folder, "wandb"),
        project=os.environ.get("WANDB_PROJECT") or _PROJECT,
        reinit="create_new",  # several runs may share a process
    )
    try:
        experiment = logger.experiment
    except wandb.errors.Error as error:
        raise InputError(
            f"--logger wandb: {one_line(error)}; log in by `wandb login`, or set WANDB_MODE=offline"
        ) from error
    experiment.config.update(dict(settings), allow_val_change=True)
    _remember(folder, "wandb", experiment.id)
    return [logger], cast("Callable[[], None]", experiment.finish)


def _mlflow(folder: Path, root: Path, settings: Mapping[str, Any]) -> Logger:
    mlflow = imported("mlflow", "mlflow", "--logger mlflow")
    root.mkdir(parents=True, exist_ok=True)
    server = os.environ.get("MLFLOW_TRACKING_URI")
    store = server or f"sqlite:///{root.resolve() / 'mlflow.db'}"
    identity = _identity(folder, "mlflow")
    try:
        logger = _MLflow(
            experiment_name=os.environ.get("MLFLOW_EXPERIMENT_NAME") or _PROJECT,
            run_name=_title(folder),
            tracking_uri=store,
            artifact_location=None if server else (root / "mlflow_files").resolve().as_uri(),
            run_id=identity,
        )
        run = str(logger.run_id)
        if identity is None:  # MLflow refuses other values later
            MLFlowLogger.log_hyperparams(logger, dict(settings))
    except mlflow.exceptions.MlflowException as error:
        raise InputError(
            f"--logger mlflow: {store} refuses the run: {one_line(error)}; check "
            "MLFLOW_TRACKING_URI, or unset it for a file in the folder of all runs"
        ) from error
    _remember(folder, "mlflow", run)
    return logger


def _title(folder: Path) -> str:
    return "/".join(folder.parts[-2:])


def _identity(folder: Path, name: str) -> str | None:
    """Identifier that an earlier process of the run received."""
    path = folder / IDENTITY
    if not path.is_file():
        return None
    identity = read_json(path, "remove the file, and the run goes on as a new one there").get(name)
    return None if identity is None else str(identity)


def _remember(folder: Path, name: str, identity: str) -> None:
    path = folder / IDENTITY
    identities = read_json(path, "remove the file") if path.is_file() else {}
    if identities.get(name) != identity:
        with atomic(path) as temporary:
            temporary.write_text(
                json.dumps({**identities, name: identity}) + "\n", encoding="utf-8"
            )


def _nothing() -> None:
    """Does nothing, for a logger that the trainer closes."""
