"""Lightning's duties in a step after its callbacks: logging and validation."""

from typing import Any, cast

import lightning.pytorch as pl
from lightning.fabric.utilities.apply_func import convert_tensors_to_scalars

from dislab.runs import Curves


def validation_follows(trainer: pl.Trainer) -> bool:
    """Whether a validation is due after the batch that has just ended."""
    loop = trainer.fit_loop
    if getattr(trainer, "_val_check_time_interval", None) is not None:
        return False  # the clock decides, and only when Lightning asks it
    return loop.epoch_loop._should_check_val_fx(cast("Any", loop._data_fetcher))


def log_step(trainer: pl.Trainer) -> None:
    """Log the values of the step that has just ended, which Lightning does after its callbacks."""
    connector: Any = trainer._logger_connector
    connector.on_batch_end()
    connector.update_train_step_metrics()


def count_last_step(trainer: pl.Trainer) -> None:
    """Count the last step of a run that was finished before, when `fit` has nothing to do.

    A state that is saved in a step has the step uncounted for the loggers, and Lightning counts it
    when the next one begins; after a finished run none does, and what is logged then would be of
    the step before.
    """
    trainer.fit_loop.epoch_loop._batches_that_stepped = trainer.global_step


def write_row(trainer: pl.Trainer) -> None:
    """Write the values that a step logs into the table of the run, before a checkpoint of it.

    Lightning writes them after its callbacks; a kill in between would lose them. The table takes
    them once.
    """
    for logger in trainer.loggers:
        if not isinstance(logger, Curves):
            continue
        connector, loop = trainer._logger_connector, trainer.fit_loop
        waits = loop._should_accumulate() and trainer.lightning_module.automatic_optimization
        if connector.should_update_logs and not waits:
            row = convert_tensors_to_scalars(connector.metrics["log"])
            if row:
                epoch = {"epoch": trainer.current_epoch}
                logger.log_metrics(epoch | row, loop.epoch_loop._batches_that_stepped)
        logger.sync()
