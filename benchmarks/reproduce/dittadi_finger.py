"""Transfer against disentanglement on the robot finger, after Dittadi et al. (2021).

python benchmarks/reproduce/dittadi_finger.py [NAME …] [--full] [--runs FOLDER]

Trains β-VAEs and Ada-GVAEs with and without input noise by `dislab fit`, each in a process of its
own, scores their codes, adds synthetic codes that are mixed with the true factors, and writes
benchmarks/results/dittadi_finger.json and docs/images/results/dittadi_*.png. A model that was
trained or scored before is left alone, and one that was stopped goes on from its checkpoint. With
names only these models are brought up to date, without the pictures. `--full` trains a part of the
paper's sweep with its networks on 128×128 images, which is for a GPU, and keeps its results apart.
"""

import argparse
import json
import os
import platform
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import finger_figures as figures
import torch
from finger_codes import Bank, Numbers, domains, encode, mixed, space
from finger_tables import DCI, correlations, noise_effects, tables
from finger_training import FULL, LAPTOP, Cell, Sweep, cells, train
from finger_transfer import chance, transfer

from dislab.metrics import evaluate
from dislab.storage import atomic

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "images" / "results"
METRICS = ["MIG", "DCI", "SAP", "Modularity"]
SHARES = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""How much of the true factors synthetic codes hold."""
SYNTHETIC_SEEDS = 2


def measure(cell: Cell, sweep: Sweep, runs: Path, domain: dict[str, Bank]) -> dict[str, Any]:
    """The record of a trained model."""
    run = runs / cell.name / "version_0"
    codes = encode(run, domain, runs / "codes" / f"{cell.name}.npz")
    reconstruction, kl = (float(one) for one in codes.pop("losses"))
    pieces = (run / "seconds.txt").read_text(encoding="utf-8").split()
    return {
        "kind": "weak" if cell.weak else "alone",
        "beta": cell.beta,
        "noise": cell.noise,
        "seed": cell.seed,
        "steps": sweep.steps,
        "cpu_seconds": round(sum(float(one) for one in pieces[1::2])),
        "losses": {"reconstruction": reconstruction, "kl": kl, "elbo": -reconstruction - kl},
        **judged(codes, sweep, domain),
    }


def measure_mixed(share: float, seed: int, sweep: Sweep, domain: dict[str, Bank]) -> dict[str, Any]:
    """The record of synthetic codes, which stand for encoders in distribution only."""
    codes = {"seen": mixed(domain["seen"].positions(), share, seed)}
    about = {"kind": "mixed", "noise": False, "share": share, "seed": seed}
    return {**about, **judged(codes, sweep, domain)}


def judged(codes: dict[str, Numbers], sweep: Sweep, domain: dict[str, Bank]) -> dict[str, Any]:
    """Disentanglement and transfer of codes."""
    positions = {name: domain[name].positions() for name in codes}
    first = slice(sweep.scored)
    found = evaluate(codes["seen"][first], positions["seen"][first], METRICS, space=space())
    return {"scores": found, "transfer": transfer(codes, positions, sweep.labels, sweep.tested)}


def recorded(path: Path, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """A record, made and written where there is none."""
    if path.is_file():
        return dict(json.loads(path.read_text(encoding="utf-8")))
    record = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, record)
    print(path.stem, {key: round(record["scores"][key], 3) for key in ("mig", DCI)}, flush=True)
    return record


def write(path: Path, content: dict[str, Any]) -> None:
    """A JSON file, never seen half-written."""
    with atomic(path) as temporary:
        text = json.dumps(content, indent=1, sort_keys=True)
        temporary.write_text(text + "\n", encoding="utf-8")


def draw(found: dict[str, Any], runs: Path, domain: dict[str, Bank], prefix: str) -> None:
    """The three pictures."""
    models = list(found["models"].values())
    names = list(space().names)
    figures.against_dci(models, found["correlations"], PICTURES / f"{prefix}_transfer.png")
    figures.of_noise(models, "GradientBoosting", names, PICTURES / f"{prefix}_noise.png")
    chosen = {"least disentangled": least(found["models"], (False, True))[0]}
    for noise in (False, True):
        word = "with" if noise else "without"
        chosen[f"most, {word} noise"] = least(found["models"], (noise,))[-1]
    shown = {label: runs / name / "version_0" for label, name in chosen.items()}
    figures.of_reconstructions(shown, domain, PICTURES / f"{prefix}_reconstructions.png")


def least(models: dict[str, dict[str, Any]], noises: tuple[bool, ...]) -> list[str]:
    """Names of trained models, the least disentangled first."""
    names = [
        name for name, one in models.items() if one["kind"] != "mixed" and one["noise"] in noises
    ]
    return sorted(names, key=lambda name: float(models[name]["scores"][DCI]))


def main() -> None:
    """Makes what is missing, then tables and pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="models, or `mixed` for the synthetic codes")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--runs", type=Path, default=Path("runs/dittadi_finger"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    sweep, prefix = (FULL, "dittadi_full") if args.full else (LAPTOP, "dittadi")
    domain = domains(sweep.side, sweep.resize, sweep.states, sweep.encoded)
    models: dict[str, dict[str, Any]] = {}
    for cell in cells(sweep):
        if not args.names or cell.name in args.names:
            train(cell, sweep, args.runs)
            path = args.runs / "records" / f"{cell.name}.json"
            make = partial(measure, cell, sweep, args.runs, domain)
            models[cell.name] = recorded(path, make)
    for seed, share in product(range(SYNTHETIC_SEEDS), SHARES):
        if not args.names or "mixed" in args.names:
            name = f"mixed_{share:g}_s{seed}"
            make = partial(measure_mixed, share, seed, sweep, domain)
            models[name] = recorded(args.runs / "records" / f"{name}.json", make)
    if not args.names:
        positions = {name: one.positions() for name, one in domain.items()}
        found = summary(models, sweep, chance(positions, sweep.labels, sweep.tested))
        name = "dittadi_finger_full" if args.full else "dittadi_finger"
        write(ROOT / "benchmarks" / "results" / f"{name}.json", found)
        draw(found, args.runs, domain, prefix)


def summary(
    models: dict[str, dict[str, Any]], sweep: Sweep, level: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Everything that is known, as it is published."""
    return {
        "command": f"python benchmarks/reproduce/dittadi_finger.py{' --full' * (sweep is FULL)}",
        "sweep": sweep._asdict(),
        "hardware": f"{os.cpu_count()}-core {platform.machine()}, one thread",
        "versions": {one: version(one) for one in ("dislab", "torch", "lightning", "scikit-learn")}
        | {"python": platform.python_version()},
        "models": models,
        "chance": level,
        "correlations": correlations(models),
        "noise": noise_effects(models),
        "tables": tables(models, level),
    }


if __name__ == "__main__":
    main()
