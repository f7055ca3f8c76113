"""Trains methods on an easy task for some minutes, and keeps their scores and pictures.

python benchmarks/effects/rooms.py [NAME …] [--seed 0] [--runs FOLDER]

Each method is trained by `dislab fit` in a process of its own, with `configs/rooms.yaml` on top of
its configuration. Writes benchmarks/results/rooms.json after each of them, its traversals to
docs/images/methods/NAME.png and the small picture of the gallery to docs/images/gallery/NAME.png. A
method that has a finished run in the folder is not trained again. `qlae` and `hfs` need their
packages: pip install -e plugins/dislab-qlae -e plugins/dislab-hfs.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gallery import GALLERY, draw, save
from methods import PICTURES, ROOT, environment, latest
from PIL import Image

from dislab.runs import SCORES
from dislab.storage import atomic

RESULT = ROOT / "benchmarks" / "results" / "rooms.json"
SCORES_SHOWN = {
    "mig": "MIG",
    "dci_hgbt_disentanglement": "DCI disentanglement",
    "factor_vae_score": "FactorVAE score",
}
METHODS: dict[str, tuple[str, ...]] = {
    "vae": (),
    "betavae": (),
    "annealedvae": (  # as in configs/first_run.yaml
        "--model.regularizers.kl.gamma=20",
        "--model.regularizers.kl.capacity=13",
        "--model.regularizers.kl.steps=3000",
    ),
    "betatcvae": (),
    "dipvae1": (),
    "dipvae2": (),
    "adamlvae": ("--data.batch_size=32",),
    "qlae": (
        "--model.optimizer=torch.optim.AdamW",  # the decay of weights is part of the method
        "--model.optimizer.lr=2e-3",
        "--model.optimizer.weight_decay=0.1",
    ),
    "hfs": ("--data.correlation=null",),
}
"""Configurations, and what differs from them and from the overlay."""
ELSEWHERE = {"factorvae, first_run": "first_run", "adagvae, home": "home"}
"""Rooms of the gallery that other scripts train, by their configurations, and their files."""


def configuration(name: str) -> Path:
    """The configuration of that name, of dislab or of a package under plugins/."""
    (path,) = [
        path
        for folder in ("configs", "plugins/*/src/*/configs")
        for path in ROOT.glob(f"{folder}/{name}.yaml")
    ]
    return path


def train(name: str, seed: int, runs: Path) -> float:
    """Trains one method; seconds by the clock."""
    files = [f"--config={path}" for path in (configuration(name), configuration("rooms"))]
    options = [*METHODS[name], f"--seed_everything={seed}", f"--runs={runs}"]
    options += ["--trainer.accelerator=cpu", "--traversals.images=1"]
    command = [sys.executable, "-m", "dislab", "fit", *files, *options]
    start = time.perf_counter()
    subprocess.run(command, env=environment(), check=True)
    return time.perf_counter() - start


def record(name: str, run: Path, seconds: float | None) -> dict[str, Any]:
    """What is kept of a run."""
    test = json.loads((run / SCORES).read_text(encoding="utf-8"))["test"]
    return {
        "options": list(METHODS[name]),
        "steps": test["checkpoint"]["steps"],
        "seed": test["seed"],
        "seconds": seconds,
        "scores": {score: test["scores"][score] for score in SCORES_SHOWN},
        "versions": test["versions"],
    }


def main() -> None:
    """Trains what has no run yet, and draws all pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[[], *METHODS], default=[])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=Path, default=Path("runs/rooms"))
    args = parser.parse_args()
    for name in args.names or METHODS:
        seconds = None
        if not list(args.runs.glob(f"{name}/version_*/{SCORES}")):
            seconds = round(train(name, args.seed, args.runs))
        run = latest(args.runs, name)
        with Image.open(run / "images" / "traversals.png") as picture:
            save(picture, PICTURES / f"{name}.png")
        draw(run, GALLERY / f"{name}.png")
        results = json.loads(RESULT.read_text()) if RESULT.is_file() else {"methods": {}}
        old = results["methods"].get(name, {})
        results["methods"][name] = record(name, run, seconds or old.get("seconds"))
        results["hardware"] = f"{os.cpu_count()}-core {platform.machine()}, one thread each"
        write(results)


def rows(methods: dict[str, Any]) -> list[list[str]]:
    """The rows of the table, one a run of seed 0."""
    records = {name: methods[name] for name in METHODS if name in methods}
    for names, file in ELSEWHERE.items():
        stored = json.loads(RESULT.with_stem(file).read_text(encoding="utf-8"))
        records[names] = stored["runs"][0] if "runs" in stored else stored
    return [
        [
            ", ".join(f"`{name}`" for name in names.split(", ")),
            f"{record['steps']:,}",
            *(f"{record['scores'][score]:.2f}" for score in SCORES_SHOWN),
        ]
        for names, record in records.items()
    ]


def write(results: dict[str, Any]) -> None:
    """Writes the records, and the table that the docs show of them."""
    header = ["configuration", "steps", *SCORES_SHOWN.values()]
    results["tables"] = {"methods": {"header": header, "rows": rows(results["methods"])}}
    with atomic(RESULT) as temporary:
        temporary.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
