"""The factors that DC-IGN's extrinsic latents follow, and heads turned and lit anew by them.

python benchmarks/effects/heads.py [--run FOLDER]

Reads the run that `python benchmarks/effects/methods.py dcign_heads` made. Writes
benchmarks/results/heads.json and docs/images/methods/dcign_turned.png.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch
import yaml
from pictures import save
from scipy.stats import spearmanr
from torch import Tensor

from dislab import runs
from dislab.datasets import ParametricHeads
from dislab.functional.random import device_generator
from dislab.plots import image_grid
from dislab.storage import atomic

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "heads.json"
PICTURE = ROOT / "docs" / "images" / "methods" / "dcign_turned.png"
EXTRINSIC = {"azimuth": "azimuth", "elevation": "elevation", "light": "light_azimuth"}
"""The factor that each group of one latent stands for, in the order of the latents."""
STEPS = 9


def coded(model: Any, data: ParametricHeads, count: int) -> tuple[Tensor, Tensor]:
    """Codes and positions of heads drawn at random."""
    generator = device_generator(torch.device("cpu"), 0)
    index = torch.randint(len(data.factors), (count,), generator=generator)
    with torch.no_grad():
        parts = [model.codes(data.images(part).float() / 255) for part in index.split(250)]
    return torch.cat(parts), torch.from_numpy(data.factors.positions(index.numpy()))


def correlations(codes: Tensor, positions: Tensor, data: ParametricHeads) -> dict[str, Any]:
    """Absolute rank correlations of each extrinsic latent, and the largest of the others."""
    table: dict[str, Any] = {}
    names = [*EXTRINSIC, "intrinsic, largest"]
    latents = [[0], [1], [2], list(range(3, codes.shape[1]))]
    for name, latents_of_group in zip(names, latents, strict=True):
        table[name] = {
            factor: round(
                max(
                    abs(spearmanr(codes[:, latent], positions[:, data.factors.column(factor)])[0])
                    for latent in latents_of_group
                ),
                3,
            )
            for factor in EXTRINSIC.values()
        }
    return table


def draw(model: Any, codes: Tensor) -> None:
    """Two heads, each with one extrinsic latent moved from its 2nd to its 98th percentile."""
    rows = []
    for latent in range(len(EXTRINSIC)):
        low, high = codes[:, latent].quantile(torch.tensor([0.02, 0.98]))
        row = []
        for head in codes[:2]:
            z = head.repeat(STEPS, 1)
            z[:, latent] = torch.linspace(low, high, STEPS)
            with torch.no_grad():
                row.append(model.decode(z))
        rows.append(torch.cat(row))
    figure = image_grid(torch.stack(rows).numpy(), list(EXTRINSIC), blocks=2)
    save(figure, PICTURE, 24)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    default = Path("runs/methods/dcign_heads/version_0")
    parser.add_argument("--run", type=Path, default=default)
    run = parser.parse_args().run
    torch.set_num_threads(1)
    config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    data = ParametricHeads(**config["data"]["init_args"]["dataset"]["init_args"])
    data.prepare()
    model = runs.load_run(run)
    codes, positions = coded(model, data, 3000)
    draw(model, codes)
    table = correlations(codes, positions, data)
    rows = [
        [f"`{name}`", *(f"{value:.2f}" for value in part.values())] for name, part in table.items()
    ]
    result = {
        "spearman": table,
        "steps": int(model.steps),
        "data": data.provenance(),
        "tables": {"heads": {"header": ["latent", *EXTRINSIC.values()], "rows": rows}},
        "versions": runs.versions(),
    }
    with atomic(RESULT) as temporary:
        temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
