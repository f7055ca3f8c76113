"""Lightning's work after the callbacks of a step: logging and validation."""

from collections.abc import Mapping
from typing import Any, cast

import lightning.pytorch as pl
from lightning.fabric.utilities.apply_func import convert_tensors_to_scalars

from dislab.errors import InputError
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


def plateau_scores(trainer: pl.Trainer) -> dict[str, float | None]:
    """Current values of the scores that schedules follow; None for a score not yet taken."""
    metrics = trainer.callback_metrics
    names = [config.monitor for config in trainer.lr_scheduler_configs if config.reduce_on_plateau]
    return {name: float(metrics[name]) if name in metrics else None for name in names if name}


def advance_plateaus(trainer: pl.Trainer, scores: Mapping[str, float | None]) -> None:
    """Advances the schedules that follow a score, at the end of an epoch that was resumed.

    Lightning leaves them out in such an epoch, because the score may be from before the checkpoint.

    Args:
        trainer: The trainer.
        scores: Scores from before the checkpoint, which newer ones replace.

    Raises:
        InputError: A score is missing.
    """
    newer = {name: value for name, value in plateau_scores(trainer).items() if value is not None}
    scores = {**scores, **newer}
    for config in trainer.lr_scheduler_configs:
        is_due = config.interval == "epoch" and (trainer.current_epoch + 1) % config.frequency == 0
        if not (config.reduce_on_plateau and is_due):
            continue
        score = scores.get(str(config.monitor))
        if score is None:
            raise InputError(
                f"the schedule {type(config.scheduler).__name__} follows {config.monitor}, which "
                f"was not taken in epoch {trainer.current_epoch}; name another score, or validate "
                "in each epoch (trainer.check_val_every_n_epoch 1)"
            )
        trainer.lightning_module.lr_scheduler_step(config.scheduler, score)


def count_epoch_as_begun(trainer: pl.Trainer) -> None:
    """Counts an epoch as begun that was resumed after its last batch; Lightning does not."""
    progress: Any = trainer.fit_loop.epoch_progress
    for counts in (progress.total, progress.current):
        counts.ready = counts.started = max(counts.ready, counts.processed)


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
