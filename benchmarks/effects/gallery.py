"""The small pictures of the gallery of methods, without words.

    python benchmarks/effects/gallery.py --home runs/home/version_0

Cuts pictures out of those on the pages of the methods, and draws one of the model of the home page.
`rooms.py` draws those of its runs. Models of `dislab-identify` are drawn with

    python benchmarks/effects/gallery.py --slowvae RUN --ivae RUN --contrastive RUN

from a run of `slowvae_rooms.yaml`, and from runs of `ivae.yaml` (6,000 steps) and of
`contrastive.yaml` (1,000 steps). All lie in docs/images/gallery.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from dislab import plugins
from dislab.base import DataModule, Objective
from dislab.report.explorer import explorer_of
from dislab.runs import load_run
from dislab.runs.opened import run_config, run_data
from dislab.storage import atomic

IMAGES = Path(__file__).parents[2] / "docs" / "images"
GALLERY = IMAGES / "gallery"
ROWS, COLUMNS, SIDE = 6, 9, 32
"""Latents, positions and pixels of an image."""
POINTS = 600
"""Points of a scatter plot."""
CUTS = {
    "factorvae": ("first_traversals.png", (342, 62, 934, 455)),
    "dcign": ("methods/dcign_turned.png", (80, 11, 375, 208)),
    "gtdecoder": ("methods/gtdecoder.png", (43, 29, 260, 184)),
    "infogan": ("methods/infogan_mnist.png", (75, 16, 209, 96)),
    "infowgangp": ("methods/infowgangp.png", (84, 18, 291, 165)),
    "bottleneck": ("bottleneck.png", (669, 76, 1069, 342)),
    "composition": ("methods/composition.png", (113, 40, 310, 171)),
    "betavae_dae": ("methods/betavae_dae.png", (81, 28, 348, 205)),
    "scan": ("methods/scan_concepts_shapes3d.png", (72, 36, 467, 297)),
    "dittadi": ("results/dittadi_reconstructions.png", (145, 40, 554, 303)),
    "montero": ("results/montero_element.png", (126, 40, 522, 304)),
}
"""Names, pictures in docs/images, and left, upper, right and lower end of what is cut out."""


def opened(run: Path) -> tuple[Objective, DataModule]:
    """The model and the prepared data of a run."""
    plugins.load_all(plugins.PARTS)
    data = run_data(run, run_config(run))
    data.prepare_data()
    data.setup("test")
    return load_run(run), data


def draw(run: Path, path: Path) -> None:
    """Draws a picture for the gallery: each row moves one latent of a test image, without words."""
    module, data = opened(run)
    explorer = explorer_of(module, data)
    with torch.inference_mode():
        rows = [_row(module, explorer["starts"], slider) for slider in explorer["sliders"][:ROWS]]
    levels = torch.cat(rows, dim=1).clamp(0, 1).mul(255).round().byte().permute(1, 2, 0)
    picture = Image.fromarray(levels.numpy())
    save(picture.resize((COLUMNS * SIDE, len(rows) * SIDE)), path)


def _row(module: Objective, starts: list[dict[str, Any]], slider: dict[str, Any]) -> Tensor:
    """Images beside each other, in which one latent moves."""
    codes = torch.tensor(starts[1]["code"]).repeat(COLUMNS, 1)
    codes[:, slider["latent"]] = torch.linspace(slider["low"], slider["high"], COLUMNS)
    return torch.cat(list(module.decode(codes)), dim=2)


def scatter(run: Path, path: Path) -> None:
    """Draws the factors of vectors over the latents that match them best, without words."""
    module, data = opened(run)
    states = data.indices("test")[:POINTS]
    with torch.inference_mode():
        codes = module.codes(data.images(torch.from_numpy(states))).numpy()
    factors = data.factors.places(data.factors.positions(states))
    columns = [
        column for column in range(factors.shape[1]) if not data.factors.factors[column].nuisance
    ]
    strength = np.abs(
        np.corrcoef(codes.T, factors[:, columns].T)[: codes.shape[1], codes.shape[1] :]
    )
    latents, matched = linear_sum_assignment(-strength)
    figure = Figure(figsize=(2.88, 1.92), dpi=100)
    for number, (latent, column) in enumerate([*zip(latents, matched, strict=True)][:ROWS]):
        axes = figure.add_subplot(2, 3, number + 1, xticks=[], yticks=[])
        axes.scatter(codes[:, latent], factors[:, columns[column]], s=0.6, alpha=0.5, linewidths=0)
    figure.tight_layout(pad=0.3)
    FigureCanvasAgg(figure).draw()
    save(Image.fromarray(np.asarray(figure.canvas.buffer_rgba())), path)


def save(picture: Image.Image, path: Path) -> None:
    """Writes a picture of few colours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path) as temporary:
        picture.convert("RGB").quantize(128).save(temporary, format="png", optimize=True)


def main() -> None:
    """Cuts out pictures, and draws that of the home page's model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", type=Path, help="run folder of the model of the home page")
    parser.add_argument("--slowvae", type=Path, help="run folder of a SlowVAE of the rooms")
    for name in ("ivae", "contrastive"):
        parser.add_argument(f"--{name}", type=Path, help=f"run folder of {name}.yaml")
    options = parser.parse_args()
    for name, (source, box) in CUTS.items():
        with Image.open(IMAGES / source) as picture:
            save(picture.convert("RGB").crop(box), GALLERY / f"{name}.png")
    if options.home:
        draw(options.home, GALLERY / "adagvae.png")
    if options.slowvae:
        draw(options.slowvae, GALLERY / "slowvae.png")
    for name in ("ivae", "contrastive"):
        if run := getattr(options, name):
            scatter(run, GALLERY / f"{name}.png")


if __name__ == "__main__":
    main()
