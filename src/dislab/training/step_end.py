"""Lightning's work after the callbacks of a step: logging and validation."""

from typing import Any, cast

import lightning.pytorch as pl
from lightning.fabric.utilities.apply_func import convert_tensors_to_scalars

from dislab.runs import Curves


def validation_follows(trainer: pl.Trainer) -> bool:
    """Whether a validation is due after the batch that has just ended."""
    loop = trainer.fit_loop
    if getattr(trainer, "_val_check_time_interval", None) is not None:
        return False  # depends on the clock, which only Lightning should query
    return loop.epoch_loop._should_check_val_fx(cast("Any", loop._data_fetcher))


def log_step(trainer: pl.Trainer) -> None:
    """Logs the values of the step that just ended, which Lightning would do after its callbacks."""
    connector: Any = trainer._logger_connector
    connector.on_batch_end()
    connector.update_train_step_metrics()


def count_last_step(trainer: pl.Trainer) -> None:
    """Count the last step of a finished run, for which `fit` has nothing to do.

    In a state saved during a step, this step is not yet counted for the loggers; Lightning counts
    it when the next step begins. After a finished run there is no next step, and later log entries
    would have the number of the previous step.
    """
    trainer.fit_loop.epoch_loop._batches_that_stepped = trainer.global_step


def write_row(trainer: pl.Trainer) -> None:
    """Writes the logged values of a step into the run's table before its checkpoint is saved.

    Lightning writes them after its callbacks; if the process were killed in between, they would be
    lost. The table accepts them only once.
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
