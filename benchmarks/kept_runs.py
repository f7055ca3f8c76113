"""Scores of each run of a study, kept beside the tables that are computed from them."""

from pathlib import Path
from typing import Final

from dislab.storage import atomic
from dislab.study import Study
from dislab.study.stages.codes import WORD

RUNS: Final = Path(__file__).parent / "results" / "runs"


def keep_runs(study: Study, folder: Path = RUNS) -> Path:
    """Writes the table of `dislab study table` with six digits; returns its path, FOLDER/STUDY.csv.

    A study with the stage `codes` adds agreement and scores on 100 labels, which select runs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    table = study.table()
    if WORD in study.schedule.stages:
        table = table.join(study.agreement()).join(study.few_labels(100))
    path = folder / f"{study.schedule.name}.csv"
    with atomic(path) as temporary:
        table.to_csv(temporary, float_format="%.6g")
    return path
