"""Scores of the first run over seeds, beside those of untrained models.

    overlay="--config factorvae --config first_run"
    for s in 0 1 2 3 4; do dislab fit $overlay --seed_everything $s --runs runs/seeds; done
    # --evaluate.untrained 0 saves time in all but one of them
    python benchmarks/first_run.py runs/seeds/factorvae/version_*

Writes benchmarks/results/first_run.json, whose table `make docs-tables` writes into README and
docs/first_run.md. Goals: a median MIG of 0.4,
a median DCI disentanglement of 0.5, every run ten standard deviations of the untrained models above
their mean, and a latent of its own for each of the hues and the orientation.
"""

import argparse
import json
from pathlib import Path
from statistics import median
from typing import Any

from dislab.storage import atomic
from hardware import processor

RESULT = Path(__file__).parent / "results" / "first_run.json"
SCORES = {
    "mig": "MIG",
    "dci_hgbt_disentanglement": "DCI disentanglement",
    "dci_hgbt_completeness": "DCI completeness",
    "dci_hgbt_informativeness": "DCI informativeness",
    "factor_vae_score": "FactorVAE score",
}
FACTORS = ("floor_hue", "wall_hue", "object_hue", "orientation")


def read(run: Path) -> dict[str, Any]:
    """Scores of a run and of its untrained models, and the best latent of each factor."""
    test = json.loads((run / "scores.json").read_text())["test"]
    names, information = test["data"]["factors"], test["parts"]["mutual_information"]
    latents = {}
    for factor in FACTORS:
        column = [row[names.index(factor)] for row in information]
        latents[factor] = max(range(len(column)), key=column.__getitem__)
    return {
        "seed": test["seed"],
        "steps": test["checkpoint"]["steps"],
        "versions": test["versions"],
        "scores": {name: test["scores"][name] for name in SCORES},
        "gaps": dict(zip(names, test["parts"]["mig_per_factor"], strict=True)),
        "latents": latents,
        "chance": {name: test["chance"].get(name) for name in SCORES},
        "untrained": test["untrained"]["scores"],
    }


def main() -> None:
    """Reads the runs, prints the table and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    runs = sorted((read(run) for run in parser.parse_args().runs), key=lambda run: run["seed"])
    # fresh weights depend on evaluate.seed alone, so one run's untrained models serve all
    untrained = next(run["untrained"] for run in runs if run["untrained"])
    medians, rows = {}, []
    for name, title in SCORES.items():
        values = [run["scores"][name] for run in runs]
        medians[name] = median(values)
        row = [title, f"{medians[name]:.2f}", f"{min(values):.2f} to {max(values):.2f}"]
        row.append(f"{runs[0]['chance'][name]:.2f}")
        row.append(f"{untrained[name]['mean']:.2f} ± {untrained[name]['std']:.2f}")
        rows.append(row)
        print(" | ".join(row))
    for run in runs:
        above = {
            name: round((value - untrained[name]["mean"]) / untrained[name]["std"], 1)
            for name, value in run["scores"].items()
        }
        print(f"seed {run['seed']}: latents {run['latents']}, standard deviations {above}")
    header = ["score", f"median of {len(runs)} seeds", "lowest to highest", "chance"]
    table = {"header": [*header, "untrained models"], "rows": rows}
    record = {
        "processor": processor(),
        "medians": medians,
        "tables": {"scores": table},
        "runs": runs,
    }
    with atomic(RESULT) as temporary:
        temporary.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
