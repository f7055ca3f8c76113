"""Run folders: the files that a run writes, and functions that read them.

The folder of a run is `<root>/<name>/version_<k>/` and contains `config.yaml`, `checkpoints/`,
`scores.json`, `metrics.csv`, TensorBoard events and `images/`.
"""

from dislab.naming.builders import versions
from dislab.runs.checkpoints import CheckpointFiles, check_resumable, read_checkpoint
from dislab.runs.codes import Encoded
from dislab.runs.curves import Curves
from dislab.runs.folders import (
    LAST,
    Best,
    best_checkpoint,
    checkpoint_of,
    forget_divergence,
    has_diverged,
    last_checkpoint,
    new_run,
    record_divergence,
    remove_unused,
    trained_alone,
)
from dislab.runs.loggers import LoggerName, check_logger, named_logger
from dislab.runs.models import check_model_names, from_settings, load_run, rebuild, settings_of
from dislab.runs.opened import OpenRun, open_run
from dislab.runs.records import SCORES, Record, ScoreStage, origin, read_scores, write_scores
from dislab.yaml_files import CONFIG

__all__ = [
    "CONFIG",
    "LAST",
    "SCORES",
    "Best",
    "CheckpointFiles",
    "Curves",
    "Encoded",
    "LoggerName",
    "OpenRun",
    "Record",
    "ScoreStage",
    "best_checkpoint",
    "check_logger",
    "check_model_names",
    "check_resumable",
    "checkpoint_of",
    "forget_divergence",
    "from_settings",
    "has_diverged",
    "last_checkpoint",
    "load_run",
    "named_logger",
    "new_run",
    "open_run",
    "origin",
    "read_checkpoint",
    "read_scores",
    "rebuild",
    "record_divergence",
    "remove_unused",
    "settings_of",
    "trained_alone",
    "versions",
    "write_scores",
]
