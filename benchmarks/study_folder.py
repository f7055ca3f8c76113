"""How long `dislab study status` and `table` take on a study of many finished runs.

    python benchmarks/study_folder.py --json benchmarks/results/study_folder.json

The folder is made up: 1,000 runs of 100 settings with 10 seeds each, three stages, 40 scores and 20
transfer errors a run. Goals: `status` below 2 s, `table` below 5 s, each with the start of Python.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from dislab.runs import versions
from dislab.study.results import Done, StudyFolder
from dislab.study.schedule import Schedule, ScheduledGroup, ScheduledRun, StageSettings
from dislab.study.study_file import Failure, Resources
from hardware import processor

SEEDS = 10
STAGES = ("train", "score", "transfer")
RESULTS = {"train": 0, "score": 40, "transfer": 20}
GOALS = {"status": 2.0, "table": 5.0}


def make(folder: Path, runs: int) -> None:
    """Writes the folder of a finished study."""
    draw = random.Random(0)
    digests = {stage: StageSettings({}, "0" * 12) for stage in STAGES}
    groups = [
        ScheduledGroup({"beta": n, "method": f"m{n % 6}"}, settings(n), {"b": n}, digests, str(n))
        for n in range(runs // SEEDS)
    ]
    planned = tuple(
        ScheduledRun(f"{index:012x}", index % SEEDS, groups[index // SEEDS])
        for index in range(runs)
    )
    plan = Schedule("many", ("beta", "method"), STAGES, planned, Resources(), Failure(), versions())
    plan.write(folder)
    records = StudyFolder(folder)
    for run in planned:
        for stage in STAGES:
            scores: dict[str, float | None] = {
                f"score_{n}": draw.random() for n in range(RESULTS[stage])
            }
            path = records.stage(run.id, stage) / "done.json"
            path.parent.mkdir(parents=True)
            done = Done("0" * 12, "done", scores, draw.random() * 100, versions())
            path.write_text(json.dumps(vars(done), indent=2))


def settings(index: int) -> dict[str, Any]:
    """A configuration as large as those of real runs, which have some 4 KB."""
    return {f"section_{n}": {"setting": index, "text": "x" * 100} for n in range(30)}


def seconds(folder: Path, verb: str, repeats: int) -> list[float]:
    """Times of a command, with the start of Python."""
    durations = []
    for _ in range(repeats):
        began = time.perf_counter()
        command = [sys.executable, "-m", "dislab", "study", verb, str(folder)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        durations.append(time.perf_counter() - began)
    return durations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "many")
        folder.mkdir()
        make(folder, options.runs)
        durations = {verb: seconds(folder, verb, options.repeats) for verb in GOALS}
    for verb, times in durations.items():
        print(f"{verb}: {statistics.median(times):.2f} s, goal {GOALS[verb]:.0f} s")
    if options.json:
        record = {
            "runs": options.runs,
            "median_seconds": {k: round(statistics.median(v), 2) for k, v in durations.items()},
            "least_seconds": {k: round(min(v), 2) for k, v in durations.items()},
            "goals": GOALS,
            "hardware": processor(),
            "versions": versions(),
        }
        options.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    sys.exit(any(statistics.median(times) > GOALS[verb] for verb, times in durations.items()))


if __name__ == "__main__":
    main()
