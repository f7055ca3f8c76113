"""A concept's latents widen as its examples become more diverse.

python benchmarks/effects/scan_widening.py [--vision RUN] [--steps 600] [--seed 0]

SCAN learns one concept on the vision model of benchmarks/effects/scan.py, which must have run. Its
examples are first squares of one size at one place; then of all columns, of all places, and last
of all sizes. A minute on one thread. Writes benchmarks/results/scan_widening.json and
docs/images/methods/scan_widening.png.
"""

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure
from pictures import save
from torch import Tensor
from torch.nn import functional as F

from dislab import runs
from dislab.base import SymbolBatch
from dislab.datasets import DSprites
from dislab.functional.random import device_generator
from dislab.functional.streams import Stream
from dislab.objectives import SCAN
from dislab.storage import atomic

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "scan_widening.json"
PICTURE = ROOT / "docs" / "images" / "methods" / "scan_widening.png"
CPU = torch.device("cpu")
STAGES = {"one place": (), "any column": ("posX",), "any place": ("posX", "posY")}
STAGES |= {"any size": ("posX", "posY", "scale")}
"""Which factors the examples of each stage vary in."""
ORDINAL = ("scale", "posX", "posY")


def images(data: DSprites, positions: Tensor) -> Tensor:
    index = torch.from_numpy(data.factors.index(positions.numpy()))
    return F.avg_pool2d(data.images(index).float() / 255, 2)


def upright(data: DSprites, count: int, generator: torch.Generator) -> Tensor:
    """Positions of upright sprites of all kinds."""
    sizes = [1 if factor.name == "orientation" else len(factor) for factor in data.factors.factors]
    return torch.stack([torch.randint(size, (count,), generator=generator) for size in sizes], 1)


def examples(data: DSprites, varied: tuple[str, ...], generator: torch.Generator) -> Tensor:
    """Positions of 64 squares that differ in some factors."""
    positions = upright(data, 64, generator)
    for name, value in (("shape", 0), ("scale", 5), ("posX", 8), ("posY", 8)):
        if name not in varied:
            positions[:, data.factors.column(name)] = value
    return positions


def meanings(data: DSprites, scan: SCAN) -> list[str]:
    """The ordinal factor that each latent follows best, or nothing where its code is empty."""
    positions = upright(data, 3000, device_generator(CPU, 1))
    with torch.no_grad():
        codes = scan.codes(images(data, positions))
    columns = positions[:, [data.factors.column(name) for name in ORDINAL]].float()
    table = torch.corrcoef(torch.cat((codes, columns), 1).T)[: codes.shape[1], codes.shape[1] :]
    factors = []
    for row, spread in zip(table.abs(), codes.std(0), strict=True):
        best = int(row.argmax())
        factors.append(ORDINAL[best] if spread > 0.3 and row[best] > 0.4 else "")
    return factors


def train(data: DSprites, scan: SCAN, steps: int, seed: int) -> tuple[list[Any], list[Tensor]]:
    """Standard deviations along the run, and images of the concept after each stage."""
    concept = torch.ones(64, 1)
    optimizer = torch.optim.Adam(
        [parameter for parameter in scan.parameters() if parameter.requires_grad], lr=1e-3
    )
    log, pictures = [], []
    for stage, varied in enumerate(STAGES.values()):
        for step in range(stage * steps, (stage + 1) * steps):
            generator = device_generator(CPU, seed, step)
            positions = examples(data, varied, generator)
            batch = SymbolBatch(images(data, positions), concept, positions)
            terms = scan.losses(batch, scan.draw(64, Stream(seed, step)), torch.tensor(step))
            optimizer.zero_grad()
            terms.loss.backward()
            optimizer.step()
            if step % 20 == 0:
                with torch.no_grad():
                    deviation = scan.encode_symbol(concept[:1]).log_var[0].div(2).exp()
                log.append([round(value, 4) for value in deviation.tolist()])
        with torch.no_grad():
            draws = scan.draw(8, Stream(seed))
            pictures.append(scan.sym2img(concept[:8], draws)[:, 0])
    return log, pictures


def draw(log: list[Any], images: list[Tensor], means: list[str], steps: int) -> None:
    """Curves on the left, images on the right."""
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    curves, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
    colours = {"posX": "C0", "posY": "C1", "scale": "C2", "": "0.8"}
    positions = [20 * row for row in range(len(log))]
    for latent in sorted(range(len(means)), key=lambda index: means[index]):
        label = means[latent] or "other latents"
        seen = label in curves.get_legend_handles_labels()[1]
        curve = [row[latent] for row in log]
        curves.plot(positions, curve, color=colours[means[latent]], label=None if seen else label)
    for stage, name in enumerate(STAGES):
        curves.axvline(stage * steps, color="0.6", linewidth=0.8)
        curves.text((stage + 0.05) * steps, 1.88, name, fontsize=8)
    curves.set(xlabel="steps", ylabel="standard deviation", ylim=(0, 2), xlim=(0, len(log) * 20))
    curves.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 0.93), fontsize=8)
    right.imshow(torch.cat([torch.cat(list(row), 1) for row in images]), cmap="gray")
    right.set_yticks([32 * row + 16 for row in range(len(images))])
    right.set_yticklabels(STAGES)
    right.set_xticks([])
    save(figure, PICTURE, 64, dpi=90)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    default = Path("runs/scan_table/steps6000-seed0/vision/version_0")
    parser.add_argument("--vision", type=Path, default=default)
    parser.add_argument("--steps", type=int, default=600, help="of each stage")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    data = DSprites()
    data.prepare()
    begin = time.perf_counter()
    scan = SCAN((1, 32, 32), ("shape=square",), str(options.vision))
    log, images = train(data, scan, options.steps, options.seed)
    means = meanings(data, scan)
    draw(log, images, means, options.steps)
    result = {
        "settings": {"steps": options.steps, "seed": options.seed, "stages": STAGES},
        "latents": means,
        "deviation": log,
        "seconds": round(time.perf_counter() - begin, 1),
        "data": data.provenance(),
        "hardware": {"machine": platform.machine(), "cores": os.cpu_count(), "threads": 1},
        "versions": runs.versions(),
    }
    with atomic(RESULT) as temporary:
        temporary.write_text(json.dumps(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
