"""DC-IGN beside a VAE without its clamping: which latent follows which angle of heads.

python benchmarks/effects/dcign_twin.py [--runs FOLDER]     after angles.py

The entangled twin of Kulkarni et al. (2015): a VAE with the networks, latents, images and steps of
angles.py. Of DC-IGN each angle's own latent is taken, of the VAE the latent that follows the angle
best. Writes benchmarks/results/dcign_twin.json.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from angles import FACTORS, NETWORKS, RESULT, SIDE, coded, settings
from scipy.stats import spearmanr

from dislab import runs
from dislab.datasets import ParametricHeads
from dislab.storage import atomic

ROOT = Path(__file__).parents[2]
TWIN = ROOT / "benchmarks" / "results" / "dcign_twin.json"
STRENGTH = "10"
"""The strength of DC-IGN that angles.py draws."""
STEPS = 4000


def train(folder: Path) -> Path:
    """The run of the twin, trained if there is none."""
    for run in sorted((folder / "twin").glob("version_*")):
        if (run / "checkpoints" / "last.ckpt").is_file() and runs.load_run(run).steps == STEPS:
            return run
    people = settings("people of the training")
    heads = json.dumps({"class_path": "ParametricHeads", "init_args": people})
    command = [sys.executable, "-m", "dislab", "fit", f"--runs={folder}", "--name=twin"]
    command += [f"--config={ROOT / 'configs' / 'vae.yaml'}", f"--data.dataset={heads}", *NETWORKS]
    command += [f"--data.resize={SIDE}", "--model.latent_dim=10", f"--trainer.max_steps={STEPS}"]
    command += ["--trainer.accelerator=cpu", "--evaluate.metrics=null"]
    subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)
    return max((folder / "twin").glob("version_*"), key=lambda path: int(path.name[8:]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=Path, default=Path("runs/angles"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = ParametricHeads(**settings("new people"))
    data.prepare()
    codes, angles = coded(runs.load_run(train(options.runs)), data, 3000)
    sides = np.column_stack([angles, abs(angles[:, 0])])
    twin = abs(np.array([[spearmanr(z, angle)[0] for angle in sides.T] for z in codes.numpy().T]))
    table = json.loads(RESULT.read_text(encoding="utf-8"))["spearman"][STRENGTH]["new people"]
    clamped = abs(np.array(table[: len(FACTORS)]))
    rows = [
        [name, *cells]
        for model, latents in (
            (f"DC-IGN, strength {STRENGTH}", clamped),
            ("VAE", np.array([_best(twin, factor) for factor in range(len(FACTORS))])),
        )
        for factor, name in enumerate(f"{model}: {factor}" for factor in FACTORS)
        for cells in [[f"{value:.2f}" for value in latents[factor]]]
    ]
    result = {
        "command": "python benchmarks/effects/dcign_twin.py",
        "spearman": {"vae": twin.round(3).tolist()},
        "tables": {"twin": {"header": ["latent of", *FACTORS, "size of azimuth"], "rows": rows}},
        "versions": runs.versions(),
    }
    with atomic(TWIN) as temporary:
        temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(*rows, sep="\n")


def _best(correlations: np.ndarray, factor: int) -> np.ndarray:
    """Correlations of the latent that follows a factor best; the azimuth also by its size."""
    follows = correlations[:, factor]
    if factor == 0:
        follows = np.maximum(follows, correlations[:, -1])
    return correlations[follows.argmax()]


if __name__ == "__main__":
    main()
