"""The bound L_I of InfoGAN beside that of a GAN whose generator does not maximise it.

python benchmarks/effects/infogan_bound.py [--steps 900] [--seeds 3]

Chen et al. (2016), Figure 1, on the 1,797 digits that come with scikit-learn: one categorical code
of ten values and two continuous codes. In both games Q learns to read them; only InfoGAN's
generator is rewarded for it. Writes benchmarks/results/infogan_bound.json and
docs/images/methods/infogan_bound.png.
"""

import argparse
import json
import math
import os
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure
from pictures import save
from sklearn.datasets import load_digits
from torch import Tensor

from dislab.base import ImageBatch
from dislab.decoders import ConvGenerator
from dislab.encoders import ConvCritic
from dislab.functional.games import recovered
from dislab.functional.random import device_generator
from dislab.functional.streams import Stream
from dislab.objectives import InfoGAN
from dislab.objectives._games import images_of_draws
from dislab.runs import versions
from dislab.storage import atomic

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "infogan_bound.json"
PICTURE = ROOT / "docs" / "images" / "methods" / "infogan_bound.png"
BATCH = 128
LAST = 50
"""Number of steps at the end whose mean the table shows."""
VALUES = (10,)
WEIGHTS = {"InfoGAN": 1.0, "plain GAN": 0.0}


def bounds(weight: float, seed: int, steps: int, image: Tensor) -> list[float]:
    """L_I in nats at each step."""
    torch.manual_seed(seed)
    gan = InfoGAN(
        (1, 8, 8),
        partial(ConvGenerator, channels=(32, 16), hidden=128),
        partial(ConvCritic, channels=(16, 32), hidden=128),
        noise_dim=16,
        categorical=VALUES,
        weight_categorical=weight,
        weight_continuous=weight,
    )
    optimizer = gan.configure_optimizers()
    curve = []
    for step in range(steps):
        chosen = torch.randint(
            len(image), (BATCH,), generator=device_generator(torch.device("cpu"), seed, step)
        )
        draws = gan.draw(BATCH, Stream(seed, step))
        batch = ImageBatch(image[chosen], torch.zeros(BATCH, 1, dtype=torch.long))
        loss, log = gan.losses(batch, draws, torch.tensor(step))
        if not weight:  # Q alone learns to read the codes
            with torch.no_grad():
                fake = images_of_draws(gan.generator, draws, VALUES)
            read = gan.critic(fake)[:, 1:]
            loss = loss - sum(recovered(read, draws["category"], draws["continuous"], VALUES))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(float(log["information/categorical"]))
    return curve


def figure(curves: dict[str, list[list[float]]]) -> Figure:
    """The curves over the steps: a thin line per seed, smoothed over 20 steps, and the maximum."""
    drawing = Figure(figsize=(6, 3.2), layout="constrained")
    axes = drawing.subplots()
    axes.axhline(math.log(VALUES[0]), color="0.5", linestyle="--", linewidth=1)
    axes.text(0, math.log(VALUES[0]) + 0.04, "H(c) = log 10 = 2.30", color="0.3", fontsize=9)
    for (name, seeds), colour in zip(curves.items(), ("#00796b", "#d84315"), strict=True):
        for number, curve in enumerate(seeds):
            smooth = np.convolve(curve, np.ones(20) / 20, mode="valid")
            label = None if number else name
            axes.plot(np.arange(len(smooth)) + 10, smooth, color=colour, linewidth=1, label=label)
    axes.set(xlabel="steps of 128 images", ylabel="$L_I$ (nats)", ylim=(-0.3, 2.6))
    axes.legend(frameon=False, loc="center right")
    axes.spines[["top", "right"]].set_visible(False)
    return drawing


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    image = torch.from_numpy(load_digits().images / 16).float()[:, None]
    start = time.process_time()
    curves = {
        name: [bounds(weight, seed, options.steps, image) for seed in range(options.seeds)]
        for name, weight in WEIGHTS.items()
    }
    save(figure(curves), PICTURE, 32, dpi=150)
    ends = {name: [float(np.mean(c[-LAST:])) for c in seeds] for name, seeds in curves.items()}
    rows = [
        [name, *(f"{value:.2f}" for value in values), f"{np.mean(values):.2f}"]
        for name, values in ends.items()
    ]
    header = ["", *(f"seed {seed}" for seed in range(options.seeds)), "mean"]
    result = {
        "command": f"python benchmarks/effects/infogan_bound.py --steps {options.steps}",
        "bound": {"maximum": math.log(VALUES[0]), **ends},
        "curves": {name: np.round(np.array(c)[:, ::20], 3).tolist() for name, c in curves.items()},
        "tables": {"bound": {"header": header, "rows": rows}},
        "cpu_seconds": round(time.process_time() - start),
        "hardware": f"{os.cpu_count()} CPU cores, one thread",
        "versions": versions(),
    }
    with atomic(RESULT) as temporary:
        temporary.write_text(json.dumps(result) + "\n", encoding="utf-8")
    print(rows)


if __name__ == "__main__":
    main()
