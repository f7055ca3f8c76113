"""Curves of a run that goes on: what was logged after its checkpoint is logged again."""

import csv
from pathlib import Path

from lightning.pytorch.loggers import CSVLogger, Logger, TensorBoardLogger
from lightning.pytorch.utilities import rank_zero_only

from dislab.runs import read_checkpoint


def resumed_loggers(folder: Path, checkpoint: str | Path) -> list[Logger]:
    """Loggers that go on with a run's TensorBoard events and metrics.csv.

    Args:
        folder: The run folder.
        checkpoint: Where training goes on from; rows of later steps are dropped.

    Raises:
        InputError: The checkpoint cannot be read.
    """
    step = int(read_checkpoint(checkpoint)["global_step"])
    curves = csv_logger(folder)
    if getattr(rank_zero_only, "rank", 0) == 0:  # the only process whose loggers write
        rows = _rows_before(folder / "metrics.csv", step)
        curves.experiment.metrics[:0] = rows  # making the experiment has deleted the file
        curves.save()
    return [TensorBoardLogger(folder, name="", version="", purge_step=step), curves]


def csv_logger(folder: Path) -> CSVLogger:
    """The logger of metrics.csv; each row is on disk at once, so that a kill loses none.

    Args:
        folder: The run folder.
    """
    return CSVLogger(folder, name="", version="", flush_logs_every_n_steps=1)


def _rows_before(path: Path, step: int) -> list[dict[str, float]]:
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        {name: float(value) for name, value in row.items() if value}
        for row in rows
        if int(float(row["step"])) < step
    ]
