"""The true total correlation along a run of FactorVAE, beside the discriminator's estimate.

python benchmarks/effects/true_total_correlation.py [--steps 4000] [--seed 0] [--runs FOLDER]

The upright sprites of dSprites at 32×32 pixels, fully connected networks, several weights γ. The
truth is the divergence of the aggregate posterior of all training images from the product of its
marginals, by Monte Carlo over 2,000 codes and summed over every image, without minibatch weights.
After Kim & Mnih (2018), https://arxiv.org/abs/1802.05983, whose appendix compares the two. Finished
runs are kept. Writes benchmarks/results/true_total_correlation.json and
docs/images/methods/true_total_correlation.png.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure
from pictures import save
from scan import ADAM, NETWORKS, SPRITES

from dislab import runs
from dislab.datamodules import SingleData
from dislab.datasets import DSprites
from dislab.functional.losses import log_density
from dislab.functional.random import device_generator
from dislab.storage import atomic

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "true_total_correlation.json"
PICTURE = ROOT / "docs" / "images" / "methods" / "true_total_correlation.png"
WEIGHTS = (0.0, 6.0, 35.0)
KEPT = 16
"""Checkpoints of a run."""
CODES = 2000
"""Codes over which the two are averaged."""


def train(gamma: float, options: argparse.Namespace) -> Path:
    """The finished run of a weight, trained if there is none."""
    folder = options.runs / f"steps{options.steps}-seed{options.seed}"
    name = f"gamma{gamma:g}"
    for run in (folder / name).glob("version_*"):
        if (run / "scores.json").is_file():
            return run
    command = [sys.executable, "-m", "dislab", "fit", f"--config={ROOT}/configs/factorvae.yaml"]
    command += [f"--name={name}", f"--runs={folder}", f"--seed_everything={options.seed}", ADAM]
    command += [*SPRITES, *NETWORKS, f"--model.regularizers.tc.gamma={gamma}"]
    command += [f"--trainer.max_steps={options.steps}", "--trainer.accelerator=cpu"]
    command += [f"--checkpoint.every_n_train_steps={options.steps // KEPT}"]
    command += ["--checkpoint.save_top_k=-1", "--checkpoint.filename={step}"]
    print(name, flush=True)
    done = subprocess.run(
        command,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return max((folder / name).glob("version_*"))


@torch.no_grad()
def measured(checkpoint: Path, images: torch.Tensor, seed: int) -> dict[str, float]:
    """Truth and estimate of one state of a run, in nats."""
    model: Any = runs.load_run(checkpoint)
    model.eval()
    parts = [model.encode(part) for part in images.split(2048)]
    mean, log_var = (torch.cat(columns) for columns in zip(*parts, strict=True))
    generator = device_generator(torch.device("cpu"), seed, int(model.steps))
    chosen = torch.randint(len(mean), (CODES,), generator=generator)
    noise = torch.randn(CODES, mean.shape[1], generator=generator)
    z = mean[chosen] + noise * (log_var[chosen] / 2).exp()
    ratios = []
    for part in z.split(50):
        pairs = log_density(part[:, None], mean[None], log_var[None])
        joint = pairs.sum(2).logsumexp(1)
        marginals = pairs.logsumexp(1).sum(1)
        # each mean over the images is a sum over them divided by their number
        constant = (mean.shape[1] - 1) * torch.tensor(float(len(mean))).log()
        ratios.append(joint - marginals + constant)
    logits = model.regularizers["tc"].discriminator(z)
    return {
        "step": int(model.steps),
        "true": torch.cat(ratios).mean().item(),
        "estimate": (logits[:, 0] - logits[:, 1]).mean().item(),
    }


def draw(curves: dict[str, list[dict[str, float]]]) -> None:
    """One curve a weight: the truth at the left, the estimate at the right."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    for axes, kind, title in zip(
        figure.subplots(1, 2, sharey=True),
        ("true", "estimate"),
        ("True total correlation", "The discriminator's estimate"),
        strict=True,
    ):
        for gamma, rows in curves.items():
            steps = [row["step"] for row in rows]
            axes.plot(steps, [row[kind] for row in rows], marker=".", label=f"γ = {gamma}")
        axes.set(title=title, xlabel="step", ylabel="nats" if kind == "true" else "")
        axes.legend(frameon=False)
    save(figure, PICTURE, 32, dpi=100)


def main() -> None:
    """Trains what has not been trained yet, and writes what was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=Path, default=Path("runs/true_total_correlation"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    dataset = DSprites()
    dataset.prepare()
    data = SingleData(dataset, include={"orientation": {"max": 0}}, resize=32, test=0.2)
    images = data.images(torch.from_numpy(data.indices("train")))
    curves: dict[str, list[dict[str, float]]] = {}
    for gamma in WEIGHTS:
        checkpoints = (train(gamma, options) / "checkpoints").glob("step=*.ckpt")
        rows = [measured(checkpoint, images, options.seed) for checkpoint in checkpoints]
        curves[f"{gamma:g}"] = sorted(rows, key=lambda row: row["step"])
    draw(curves)
    record = {
        "command": f"python benchmarks/effects/true_total_correlation.py --steps {options.steps}",
        "settings": {"steps": options.steps, "seed": options.seed, "codes": CODES},
        "images": len(images),
        "weights": curves,
        "hardware": f"{os.cpu_count()}-core {platform.machine()}, one thread each",
        "versions": runs.versions(),
    }
    with atomic(RESULT) as temporary:
        temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
