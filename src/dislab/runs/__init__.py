"""Run folders: where a run keeps what it made, and how it is read back.

A run lies in `<root>/<name>/version_<k>/` with `config.yaml`, `checkpoints/`, `scores.json`,
`metrics.csv`, TensorBoard events and `images/`.
"""

from dislab.runs.checkpoints import read_checkpoint
from dislab.runs.folders import LAST, checkpoint_of, last_checkpoint, new_run
from dislab.runs.models import from_settings, load_run, rebuild, settings_of
from dislab.runs.records import SCORES, Record, ScoreStage, read_scores, versions, write_scores

__all__ = [
    "LAST",
    "SCORES",
    "Record",
    "ScoreStage",
    "checkpoint_of",
    "from_settings",
    "last_checkpoint",
    "load_run",
    "new_run",
    "read_checkpoint",
    "read_scores",
    "rebuild",
    "settings_of",
    "versions",
    "write_scores",
]
