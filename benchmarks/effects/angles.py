"""Inferred angles of heads over the true ones, as in Kulkarni et al. (2015), in a small case.

python benchmarks/effects/angles.py [--steps 4000] [--seed 0] [--runs FOLDER]

DC-IGN learns from heads of 32×32 pixels; all groups of factors are active equally often. It is
trained twice, with the paper's pull on the clamped latents and with a stronger one. Its codes are
those of heads of the same people, and of people that it never saw. What has been trained already is
kept. Writes benchmarks/results/angles.json and docs/images/methods/dcign_angles.png.
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

import numpy as np
import torch
from pictures import save
from scipy.stats import spearmanr
from torch import Tensor
from torch.nn import functional as F

from dislab import runs
from dislab.datasets import ParametricHeads
from dislab.functional.random import device_generator
from dislab.plots import codes_against_factors
from dislab.runs.baselines import untrained
from dislab.storage import atomic

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "angles.json"
PICTURE = ROOT / "docs" / "images" / "methods" / "dcign_angles.png"
SIDE = 32
"""Pixels of an image's side."""
SIZES = {"azimuths": 15, "elevations": 7, "lights": 9}
PEOPLE = {
    "people of the training": {"identities": 24, "seed": 0},
    "new people": {"identities": 8, "seed": 1},
}
"""Whose heads are coded; the first are learned from."""
STRENGTHS = (0.01, 10.0)
"""Weights of the clamped latents' distance from their mean; the first is the paper's."""
FACTORS = ("azimuth", "elevation", "light_azimuth")
"""The factor of each extrinsic latent, in the order of the latents."""
NETWORKS = (
    "--model.encoder={class_path: MLPEncoder, init_args: {hidden: [512, 256]}}",
    "--model.decoder={class_path: MLPDecoder, init_args: {hidden: [256, 512]}}",
    "--model.optimizer={class_path: torch.optim.Adam, init_args: {lr: 1.0e-3}}",
)


def settings(whose: str) -> dict[str, int]:
    """Settings of the data set of some people."""
    return {**SIZES, **PEOPLE[whose]}


def train(strength: float, options: argparse.Namespace) -> Path:
    """The finished run of a strength, trained if there is none."""
    name = f"strength{strength:g}"
    for run in sorted((options.runs / name).glob("version_*")):
        if (run / "seconds.json").is_file():
            return run
    heads = json.dumps({"class_path": "ParametricHeads", "init_args": settings(next(iter(PEOPLE)))})
    latents = {"azimuth": 1, "elevation": 1, "light": 1, "intrinsic": 7}
    command = [sys.executable, "-m", "dislab", "fit", f"--runs={options.runs}"]
    command += [f"--config={ROOT / 'configs' / 'dcign_heads.yaml'}", f"--name={name}"]
    command += [f"--model.strength={strength}"]
    command += [f"--data.dataset={heads}", f"--data.resize={SIDE}", *NETWORKS]
    command += [f"--data.ratios={json.dumps(dict.fromkeys(latents, 1))}"]
    command += [f"--model.latents={json.dumps(latents)}", f"--seed_everything={options.seed}"]
    command += [f"--trainer.max_steps={options.steps}", "--trainer.accelerator=cpu"]
    command += ["--evaluate.metrics=null"]
    start = time.perf_counter()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    run = max((options.runs / name).glob("version_*"), key=lambda path: int(path.name[8:]))
    with atomic(run / "seconds.json") as temporary:
        temporary.write_text(json.dumps(round(time.perf_counter() - start)))
    return run


def coded(model: Any, data: ParametricHeads, count: int) -> tuple[Tensor, np.ndarray]:
    """Codes and angles in degrees of heads drawn at random."""
    generator = device_generator(torch.device("cpu"), 0)
    index = torch.randint(len(data.factors), (count,), generator=generator)
    parts = []
    for part in index.split(250):
        image = data.images(part).float() / 255
        image = F.interpolate(image, size=(SIDE, SIDE), mode="bilinear", antialias=True)
        with torch.no_grad():
            parts.append(model.codes(image.clamp(0, 1)))
    space = data.factors
    values = space.values(space.positions(index.numpy()))
    return torch.cat(parts), values[:, [space.column(name) for name in FACTORS]]


def correlations(codes: Tensor, angles: np.ndarray) -> list[list[float]]:
    """Rank correlations of each extrinsic latent, then the largest of the others, with each angle.

    The last is the azimuth's size, which a latent follows that is the same on both sides.
    """
    sides = np.column_stack([angles, abs(angles[:, FACTORS.index("azimuth")])])
    every = np.array(
        [[spearmanr(latent, angle)[0] for angle in sides.T] for latent in codes.numpy().T]
    )
    count = len(FACTORS)
    return [*every[:count].round(3).tolist(), abs(every[count:]).max(0).round(3).tolist()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=Path, default=Path("runs/angles"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    tables: dict[str, dict[str, Any]] = {}
    seconds = []
    for strength in STRENGTHS:
        run = train(strength, options)
        seconds.append(json.loads((run / "seconds.json").read_text()))
        model = runs.load_run(run)
        fresh = untrained(model, 1, options.seed)[1][0]
        for whose in PEOPLE:
            data = ParametricHeads(**settings(whose))
            data.prepare()
            tables.setdefault("before training", {})[whose] = correlations(
                *coded(fresh, data, 3000)
            )
            codes, angles = coded(model, data, 3000)
            tables.setdefault(f"{strength:g}", {})[whose] = correlations(codes, angles)
    figure = codes_against_factors(
        codes[:, : len(FACTORS)].numpy().astype(float),
        angles,
        [f"{name} (deg)" for name in FACTORS],
    )
    save(figure, PICTURE, 24)
    names = [*(f"`{name}`" for name in ("azimuth", "elevation", "light")), "intrinsic, largest"]
    rows = [
        [strength, name, *(f"{value:.2f}" for value in row)]
        for strength, table in tables.items()
        for name, row in zip(names, table["new people"], strict=True)
    ]
    result = {
        "command": f"python benchmarks/effects/angles.py --steps {options.steps}",
        "spearman": tables,
        "seconds": seconds,
        "steps": int(model.steps),
        "tables": {
            "angles": {"header": ["strength", "latent", *FACTORS, "size of azimuth"], "rows": rows}
        },
        "hardware": f"{os.cpu_count()}-core {platform.machine()}, one thread",
        "versions": runs.versions(),
    }
    with atomic(RESULT) as temporary:
        temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
