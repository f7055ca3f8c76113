"""Scores of each run of a study, kept beside the tables that are computed from them."""

from pathlib import Path
from typing import Final

from dislab.storage import atomic
from dislab.study import Study

RUNS: Final = Path(__file__).parent / "results" / "runs"


def keep_runs(study: Study, folder: Path = RUNS) -> None:
    """Writes FOLDER/STUDY.csv, the table of `dislab study table` with six digits."""
    folder.mkdir(parents=True, exist_ok=True)
    with atomic(folder / f"{study.schedule.name}.csv") as temporary:
        study.table().to_csv(temporary, float_format="%.6g")
