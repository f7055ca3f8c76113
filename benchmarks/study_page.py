"""Size and speed of the page of a study of 1,080 runs, in headless Chromium on one core.

    python benchmarks/study_page.py --json benchmarks/results/study_page.json

The study is made up, with the axes of Dittadi et al. (2021): 108 settings with 10 seeds each, 6
metrics, 40 scores and 10 transfer errors a run. The page has no explorers. Times are those of
script, style and layout after a click on a head, or a change of the search words: of the table as
it opens, with 100 rows, and with all rows shown. They are given in processor time, all processes
of the browser together, which other work on the machine hardly changes, and by the clock. Goals:
10 MB, 100 ms.
"""

import argparse
import itertools
import json
import os
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from dislab.runs import versions
from dislab.study import Study
from dislab.study.page import write_study_page
from dislab.study.results import Done, Failed, StudyFolder
from dislab.study.schedule import Schedule, ScheduledGroup, ScheduledRun, StageSettings
from dislab.study.study_file import Failure, Resources
from explorer import browser, processor_seconds
from hardware import processor

AXES = {
    "supervision": ("weak", "unsupervised"),
    "model.regularizers.kl.beta": (1, 2, 4),
    "model.latent_dim": (10, 25, 50),
    "noise": (False, True),
    "warm_up": (0, 50_000, 100_000),
}
SEEDS = 10
STAGES = ("train", "score", "transfer")
METRICS = ("mig", "dci_hgbt_disentanglement", "sap_r2", "modularity", "irs", "factor_vae_score")
SCORES = (
    *METRICS,
    *(f"part_{n}" for n in range(32)),
    "elbo_sample_test",
    "reconstruction_sample_test",
)
ERRORS = tuple(f"ood{n}/{kind}" for n in range(5) for kind in ("mlp", "hgbt"))
REPEATS = 40
GOALS = {"megabytes": 10.0, "milliseconds": 100.0}
MEASURE = """
const [kind, repeats, number] = arguments;
const heads = [...document.querySelectorAll('.runs thead button')];
const search = document.querySelector('#runs-search');
const times = [];
for (let i = 0; i < repeats; i++) {
  const start = performance.now();
  if (kind === 'sort') heads[(number + i) % heads.length].click();
  else {
    search.value = i % 2 ? '' : 'supervision=weak beta=4';
    search.dispatchEvent(new Event('input'));
  }
  document.body.getBoundingClientRect();
  document.querySelector('.runs tbody').lastChild.getBoundingClientRect();
  times.push(performance.now() - start);
}
search.value = '';
search.dispatchEvent(new Event('input'));
return times;
"""


def make(folder: Path, seeds: int) -> None:
    """Writes the folder of a study; of a hundred runs, one has diverged and one has failed."""
    draw = random.Random(0)
    digests = {stage: StageSettings({}, "0" * 12) for stage in STAGES}
    points = [dict(zip(AXES, values, strict=True)) for values in itertools.product(*AXES.values())]
    groups = [
        ScheduledGroup(point, settings(point), point, digests, str(point)) for point in points
    ]
    pairs = list(itertools.product(groups, range(seeds)))
    planned = tuple(ScheduledRun(f"{n:012x}", seed, group) for n, (group, seed) in enumerate(pairs))
    plan = Schedule("many", tuple(AXES), STAGES, planned, Resources(), Failure(), versions())
    plan.write(folder)
    records = StudyFolder(folder)
    metrics = {name: {"primary": name, "higher_is_better": True} for name in METRICS}
    for index, run in enumerate(planned):
        names = {"train": (), "score": SCORES, "transfer": ERRORS}
        records.run(run.id).mkdir(parents=True)
        if index % 100 == 50:
            failed = Failed("0" * 12, "exception", "ValueError: a batch had the wrong shape")
            records.write_failed(run, "train", failed)
            continue
        for stage in STAGES:
            scores: dict[str, float | None] = {name: draw.random() for name in names[stage]}
            outcome = "diverged" if index % 100 == 70 and stage == "train" else "done"
            done = Done("0" * 12, outcome, scores, draw.random() * 100, versions())
            records.write_done(run, stage, done)
            if outcome == "diverged":
                break
            if stage == "score":
                record = {"test": {"scores": scores, "metrics": metrics}}
                (records.run(run.id) / "scores.json").write_text(json.dumps(record))


def settings(point: dict[str, Any]) -> dict[str, Any]:
    """A configuration as large as those of real runs, which have some 4 KB."""
    return {**point, **{f"section_{n}": {"text": "x" * 100} for n in range(30)}}


def measured(page: Path) -> dict[str, Any]:
    """Milliseconds of sorting and filtering, and the version of the browser."""
    driver = browser()
    milliseconds = {}
    try:
        driver.get(page.as_uri())
        for rows in ("100 rows", "all rows"):
            if rows == "all rows":
                driver.execute_script("document.querySelectorAll('.pager button')[1].click()")
            for kind in ("sort", "filter"):
                before = processor_seconds(driver.service.process.pid)
                times = driver.execute_script(MEASURE, kind, REPEATS, 1)
                used = processor_seconds(driver.service.process.pid) - before
                milliseconds[f"{kind}, {rows}"] = {
                    "processor": round(1000 * used / REPEATS, 1),
                    "clock, median": round(statistics.median(times), 1),
                    "clock, least": round(min(times), 1),
                }
        return {"milliseconds": milliseconds, "chromium": driver.capabilities["browserVersion"]}
    finally:
        driver.quit()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--keep", type=Path, help="keep the page there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "many")
        folder.mkdir()
        make(folder, options.seeds)
        page = options.keep or folder / "page.html"
        began = time.perf_counter()
        write_study_page(Study(folder), page)
        written = time.perf_counter() - began
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # the browser inherits the one core
        times = measured(page)
        size = page.stat().st_size / 1e6
    record = {
        "runs": 108 * options.seeds,
        "megabytes": round(size, 2),
        "seconds_to_write": round(written, 1),
        "milliseconds": times["milliseconds"],
        "goals": GOALS,
        "hardware": processor(),
        "versions": {**versions(), "chromium": times["chromium"]},
    }
    print(json.dumps(record, indent=2))
    if options.json:
        options.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
