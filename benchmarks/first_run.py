"""Scores of the first run over seeds, beside those of untrained models.

    overlay="--config configs/factorvae.yaml --config configs/first_run.yaml"
    for s in 0 1 2 3 4; do dislab fit $overlay --seed_everything $s --runs runs/seeds; done
    # --evaluate.untrained 0 saves time in all but one of them
    python benchmarks/first_run.py runs/seeds/factorvae/version_*

Writes benchmarks/results/first_run.json and prints the table of README. Goals: a median MIG of 0.4,
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
    "dci_hgbt_disentanglement": "DCI disentanglement (`dci_hgbt`)",
    "dci_hgbt_completeness": "DCI completeness (`dci_hgbt`)",
    "dci_hgbt_informativeness": "DCI informativeness (`dci_hgbt`)",
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
    found = sorted((read(run) for run in parser.parse_args().runs), key=lambda one: one["seed"])
    print(
        "| score | median | lowest to highest | chance | untrained models |\n|---|---|---|---|---|"
    )
    # fresh weights depend on evaluate.seed alone, so one run's untrained models are everyone's
    bare = next(one["untrained"] for one in found if one["untrained"])
    medians = {}
    for name, title in SCORES.items():
        values = [one["scores"][name] for one in found]
        medians[name] = median(values)
        spread = f"{bare[name]['mean']:.3f} ± {bare[name]['std']:.3f}"
        print(
            f"| {title} | {medians[name]:.2f} | {min(values):.2f} to {max(values):.2f} | "
            f"{found[0]['chance'][name]:.2f} | {spread} |"
        )
    for one in found:
        above = {
            name: round((value - bare[name]["mean"]) / bare[name]["std"], 1)
            for name, value in one["scores"].items()
        }
        print(f"seed {one['seed']}: latents {one['latents']}, standard deviations {above}")
    record = {"processor": processor(), "medians": medians, "runs": found}
    with atomic(RESULT) as temporary:
        temporary.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
