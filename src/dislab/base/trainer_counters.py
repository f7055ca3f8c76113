"""Private counters of Lightning's trainer, read and set in one place.

Other code that depends on Lightning's internals is in `dislab.training`, which this package must
not import; `tests/training/test_insides.py` covers both.
"""

from typing import Any

import lightning.pytorch as pl


def batches_trained(trainer: pl.Trainer) -> int:
    """Number of completed training batches, over all epochs and resumed runs."""
    progress: Any = trainer.fit_loop.epoch_loop.batch_progress.total
    return int(progress.processed)


def batches_unfinished(trainer: pl.Trainer) -> int:
    """Number of batches of this epoch that were fetched but not trained on."""
    progress: Any = trainer.fit_loop.epoch_loop.batch_progress.current
    return int(progress.ready - progress.processed)


def logs_now(trainer: pl.Trainer) -> bool:
    """Whether Lightning writes a row of the log at the end of this step."""
    connector: Any = trainer._logger_connector
    return bool(connector.should_update_logs)


def log_at(trainer: pl.Trainer, step: int) -> None:
    """Sets the step of the next rows of the log.

    Lightning counts the steps of training, but the scored checkpoint may be an earlier one. It also
    counts the last step of a training only when the next one begins, which a finished run lacks.
    """
    trainer.fit_loop.epoch_loop._batches_that_stepped = step
