"""Puts every score through the situations of `dislab.testing.situations` and draws the map.

python benchmarks/stress.py                     scores without results: all take some 20 minutes
python benchmarks/stress.py --scores mig rdc    these again; the others keep their results
python benchmarks/stress.py --plugin MyScore    prints the row of a plug-in
python benchmarks/stress.py --scores            none: tables and pictures from the kept results

Each score is kept as soon as it is done, so that a second call goes on after an interruption. The
tables of docs/stress.md and docs/choosing.md follow by `make docs-tables`.
"""

import argparse
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the table of scores in tests

import torch
from tests.metrics import laws

from dislab import plugins
from dislab.testing.situations import SITUATIONS, Cell, Stress, stress
from standard_codes import provenance

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "stress.json"
LEFT_OUT = frozenset({"infomec_discrete"})
"""Scores of latents that take few codes; those of the map take as many as there are images."""
SCORES = {key: score for key, score in laws.SCORES.items() if key not in LEFT_OUT}
DRAWS = 3
"""Of scores that are not slow; slow ones are drawn once."""
BY_NAME = {str(situation): situation for situation in SITUATIONS}


def draws_of(key: str) -> int:
    return 1 if SCORES[key].slow else DRAWS


def stored() -> dict[str, Any]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"results": {}}


def keep(key: str, outcome: Stress) -> None:
    """Adds a score to the file, in the order of the table of scores."""
    report = stored()
    report["results"][key] = {
        "draws": draws_of(key),
        "bounded": outcome.bounded,
        "refused": {str(situation): reason for situation, reason in outcome.refused.items()},
        "cells": {
            result: {
                str(situation): [None if value is None else round(value, 4) for value in cell]
                for situation, cell in outcome.cells[result].items()
            }
            for result in SCORES[key].breaks
        },
    }
    stamp = provenance()
    stamp["versions"] |= {"scipy": version("scipy")}
    results = {name: report["results"][name] for name in SCORES if name in report["results"]}
    report |= {"command": "python benchmarks/stress.py", **stamp, "results": results}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")


def outcome_of(record: dict[str, Any]) -> Stress:
    """A kept score, as `stress` returned it."""
    cells = {
        result: {BY_NAME[name]: Cell(*cell) for name, cell in row.items()}
        for result, row in record["cells"].items()
    }
    refused = {BY_NAME[name]: reason for name, reason in record["refused"].items()}
    return Stress(cells, refused, record["bounded"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scores", nargs="*", choices=list(SCORES))
    parser.add_argument("--plugin")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.plugin:
        print(stress(plugins.load("metrics", arguments.plugin)))
        return
    missing = [key for key in SCORES if key not in stored()["results"]]
    for key in missing if arguments.scores is None else arguments.scores:
        start = time.monotonic()
        keep(key, stress(SCORES[key].build, draws=draws_of(key)))
        print(f"{key}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
