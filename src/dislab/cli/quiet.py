"""Hides notes and warnings of Lightning that a user of the command cannot act on."""

import logging
import re
import warnings
from typing import Final

from dislab.errors import printable

_WARNINGS: Final = (
    "Experiment logs directory .* exists and is not empty",  # the new run folder
    "Precision .* is not supported by the model summary",  # affects only a size in MB
    r"Found .* module\(s\) in eval mode",  # a frozen model inside another one
    "GPU available but not used",  # because the user asked for the CPU
    # float16's scaler skipped the first step
    r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`",
    "The dirpath has changed from",  # a run that was moved, or is given by another path
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",  # Lightning 2.6 beside torch 2.13
    "No seed found, seed set to",  # the seed of every run is in its config.yaml
    "The .* does not have many workers",  # images come from memory, or from a file in batches
    "The number of training batches .* is smaller than the logging interval",  # steps are logged
)
"""Patterns for the start of hidden warnings."""

_NOTES: Final = re.compile(
    r"Seed set to|Random seed|[A-Z]PU available|Using .*precision|Using .*AMP"
    r"|`Trainer.\w+` stopped: `max_|Trainer already configured"
    r"|Restor(ing|ed) .*checkpoint|Loaded model weights|Restored all states"
    r"|LOCAL_RANK: |Initializing distributed|-{20,}|distributed_backend=|All distributed processes"
    r"|`weights_only` was not set|💡|.*litlogger|.*litmodels"
)
"""Pattern for the start of hidden notes."""

LOGGERS: Final = (
    "lightning.fabric.utilities.rank_zero",
    "lightning.fabric.utilities.seed",
    "lightning.pytorch.utilities.rank_zero",
    "lightning.pytorch.accelerators.cuda",
    "lightning.fabric.utilities.distributed",
)


def hide_lightnings_notes() -> None:
    """Hides notes and warnings that contain no information about the run."""
    for message in _WARNINGS:
        warnings.filterwarnings("ignore", message)
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_is_of_use)


def _is_of_use(record: logging.LogRecord) -> bool:
    """Whether a note is about the run; replaces its control characters by escape sequences."""
    record.msg, record.args = printable(record.getMessage()), None
    return _NOTES.match(record.msg.strip()) is None
