"""Trains four methods without some combinations of dSprites' factors, and tests them on these.

python benchmarks/reproduce/montero_dsprites.py [--seeds 0] [--steps 6000] [--full] [--draw]

Montero et al. (2021), figures 2 and 3: VAE, β-VAE, FactorVAE and a decoder of the true factors, in
three conditions. Each cell is trained by `dislab fit` in a process of its own, from the
configurations configs/montero_*.yaml and configs/splits/*.yaml. Without --full it is a version for
a laptop: no turns, 32×32 images, smaller networks, fewer steps. A cell that is done has its record
in the folder of runs and is left out by the next call; one that was stopped goes on from its
checkpoint.

Writes benchmarks/results/montero_dsprites.json (or montero_dsprites_full.json), and the pictures of
docs/results/montero.md, which --draw alone makes anew.
"""

import argparse
import base64
import itertools
import json
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import yaml
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from PIL import Image

from dislab.base import ImageBatch, Objective
from dislab.datamodules import SingleData
from dislab.datasets import DSprites
from dislab.errors import InputError
from dislab.factors import Indices
from dislab.functional.random import host_generator
from dislab.functional.streams import Stream
from dislab.plots import image_grid, pixels
from dislab.plots.hinton import draw_hinton
from dislab.runs import checkpoint_of, load_run, read_checkpoint, read_scores, versions
from dislab.storage import atomic, json_text

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PICTURES = ROOT / "docs" / "images" / "results"
COLOURS = ("#1b6ca8", "#e07b39", "#3a9d5d", "#333333")
SHOWN = 6
"""Held-out images that a record holds with their reconstructions."""
EXAMPLES = 5000
"""States of each kind that a reconstruction is averaged over."""
SECONDS = "seconds.json"


class Condition(NamedTuple):
    """What is held out: the split file, and its name."""

    split: str
    title: str


class Method(NamedTuple):
    """The configuration, its name, and what the laptop's version changes in it."""

    config: str
    title: str
    options: tuple[str, ...]


CONDITIONS = {
    "element": Condition("dsprites_r2e_figure", "recombination to element"),
    "range": Condition("dsprites_r2r", "recombination to range"),
    "extrapolation": Condition("dsprites_extrapolation_050", "extrapolation"),
}
NETWORKS = (
    "--model.encoder=MLPEncoder",
    "--model.encoder.hidden=[256,256]",
    "--model.decoder=MLPDecoder",
    "--model.decoder.hidden=[256,256,256]",
)
TRUE_FACTORS = "gtdecoder"
# 32×32 images have a quarter of the pixels: β, γ and the KL's own weight are divided by four, so
# that they weigh as much against the reconstruction (the normalised β of Higgins et al. 2017)
METHODS = {
    "vae": Method("montero_vae", "VAE", (*NETWORKS, "--model.regularizers.kl.beta=0.25")),
    "betavae8": Method(
        "montero_betavae8", "β-VAE, β 8", (*NETWORKS, "--model.regularizers.kl.beta=2")
    ),
    "factorvae20": Method(
        "montero_factorvae20",
        "FactorVAE, γ 20",
        (
            *NETWORKS,
            "--model.regularizers.kl.beta=0.25",
            "--model.regularizers.tc.gamma=5",
            "--model.regularizers.tc.width=128",
            "--model.regularizers.tc.depth=4",
            "--model.regularizers.tc.lr=1e-3",
        ),
    ),
    TRUE_FACTORS: Method(
        "montero_gtdecoder", "true factors", ("--model.decoder.hidden=[256,256,256]",)
    ),
}
# without turns a pass over the states is a few hundred steps, as shapes need that differ in few
# pixels; with them these budgets end before any shape is told from a disc
INCLUDED = {"orientation": 0.0}
LAPTOP = (
    f"--data.include={json.dumps(INCLUDED)}",
    "--data.resize=32",
    "--data.steps_per_epoch=1000",
    "--trainer.max_epochs=-1",
    "--model.optimizer.lr=1e-3",
    "--model.optimizer.fused=true",
    "--trainer.accelerator=cpu",
)
EITHER = (
    # every state of a split that is held out, or the few that validate, would take longer than
    # training; the comparison draws 5,000 examples of its own
    "--data.eval_batch_size=500",
    "--trainer.limit_val_batches=4",
    "--trainer.limit_test_batches=4",
    "--trainer.log_every_n_steps=200",
)


class Cell(NamedTuple):
    """One model in one condition."""

    method: str
    condition: str
    seed: int
    steps: int | None

    @property
    def full(self) -> bool:
        """Whether it is trained as the paper says."""
        return self.steps is None

    @property
    def name(self) -> str:
        """Of its run and its record."""
        return f"{self.method}-{self.condition}-{self.seed}-{self.steps or 'full'}"


def options(cell: Cell) -> list[str]:
    """What `dislab fit` is called with."""
    method, condition = METHODS[cell.method], CONDITIONS[cell.condition]
    configs = [f"configs/{method.config}.yaml", f"configs/splits/{condition.split}.yaml"]
    laptop = [] if cell.full else [*method.options, *LAPTOP, f"--trainer.max_steps={cell.steps}"]
    given = [f"--seed_everything={cell.seed}", f"--name={cell.name}"]
    return [*(f"--config={ROOT / one}" for one in configs), *laptop, *EITHER, *given]


def train(cell: Cell, runs: Path) -> tuple[Path, float]:
    """Trains a cell, or goes on with it; returns its run folder and the seconds of processor."""
    arguments = [f"--runs={runs}", *options(cell)]
    for folder in reversed(folders_of(cell, runs)):
        if (folder / "scores.json").is_file():
            return folder, seconds_of(folder)
        try:
            read_checkpoint(checkpoint_of(folder))
        except InputError:
            continue  # stopped before the first checkpoint
        arguments = [f"--resume={folder}"]
        break
    command = [sys.executable, "-m", "dislab", "fit", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    run = folders_of(cell, runs)[-1]
    with atomic(run / SECONDS) as temporary:
        temporary.write_text(str(round(seconds_of(run) + used)), encoding="utf-8")
    return run, seconds_of(run)


def seconds_of(run: Path) -> float:
    """Seconds of processor that a run has taken so far, without what a killed one took last."""
    known = run / SECONDS
    return float(known.read_text(encoding="utf-8")) if known.is_file() else 0.0


def folders_of(cell: Cell, runs: Path) -> list[Path]:
    """The run folders of a cell, the newest last."""
    found = (runs / cell.name).glob("version_*")
    return sorted(found, key=lambda one: int(one.name.removeprefix("version_")))


def machine() -> dict[str, Any]:
    """What the numbers of a cell may depend on."""
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    hardware = f"{os.cpu_count()}-core {platform.machine()}, {device}"
    return {"hardware": hardware, "versions": versions()}


def measure(cell: Cell, run: Path) -> dict[str, Any]:
    """The record of a trained cell."""
    scores = read_scores(run)
    compared = scores["test_generalisation"]
    record = {**cell._asdict(), "full": cell.full, "steps": compared["steps"]}
    scored = compared["scores"]
    record |= {name: scored[f"sample_{name}"] for name in ("train", "test", "ratio", "excess")}
    record["decoded_means"] = {
        name: scored[f"mean_{name}"] for name in ("train", "test", "ratio", "excess")
    }
    record["examples"] = compared["draw"]
    if cell.method == TRUE_FACTORS:
        record["disentanglement"] = 1.0
    else:
        tested = scores["test"]
        record["disentanglement"] = tested["scores"]["dci_lassocv_disentanglement"]
        record["importance"] = tested["parts"]["dci_lassocv_importance"]
        record["kl"] = tested["parts"]["kl_per_latent"]
    data, module = data_of(cell), load_run(run).eval()
    record["alike"] = alike(data, module)
    return record | {"images": pictures(data, module)}


def data_of(cell: Cell) -> SingleData:
    """The data of a cell, as its configurations have them."""
    split = ROOT / "configs" / "splits" / f"{CONDITIONS[cell.condition].split}.yaml"
    held_out = yaml.safe_load(split.read_text(encoding="utf-8"))["data"]["init_args"]["hold_out"]
    smaller: dict[str, Any] = {} if cell.full else {"include": INCLUDED, "resize": 32}
    return SingleData(DSprites(), hold_out=held_out, **smaller)


def batch_of(data: SingleData, states: Indices) -> ImageBatch:
    """Images and positions of some states."""
    positions = torch.from_numpy(data.factors.positions(states))
    return ImageBatch(data.images(torch.from_numpy(states)), positions)


def alike(data: SingleData, module: Objective) -> float:
    """Reconstruction of training states that show the held-out shapes and sizes elsewhere.

    A large ellipse has more border than the average image, so that it costs more nats wherever it
    is; this is what the held-out states would cost if their places made no difference.
    """
    conditions = dict(data.hold_out or {})
    looks = {name: one for name, one in conditions.items() if name not in ("posX", "posY")}
    states = np.intersect1d(data.factors.where(looks), data.indices("train"))
    chosen = host_generator(0).choice(states, size=min(EXAMPLES, len(states)), replace=False)
    total = 0.0
    for number, part in enumerate(np.array_split(chosen, -(-len(chosen) // 500))):
        draws = module.draw(len(part), Stream(0, number))
        with torch.inference_mode():
            terms = module.losses(batch_of(data, part), draws, module.steps)
        total += float(terms.log["reconstruction"]) * len(part)
    return total / len(chosen)


def pictures(data: SingleData, module: Objective) -> dict[str, list[str]]:
    """Some held-out images and what the method makes of them, as PNG in base64."""
    batch = batch_of(data, host_generator(0).choice(data.indices("test"), SHOWN, replace=False))
    with torch.inference_mode():
        codes = module.has_codes
        made = module.reconstruct(batch.image) if codes else module.render(batch.factors)
    return {
        name: [encoded(one) for one in shown.mul(255).round().byte().numpy()]
        for name, shown in (("held_out", batch.image), ("made", made))
    }


def encoded(image: npt.NDArray[np.uint8]) -> str:
    """A grey image as PNG in base64."""
    buffer = BytesIO()
    Image.fromarray(image[0]).save(buffer, "png", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()


def decoded(text: str) -> npt.NDArray[np.float64]:
    """The image that `encoded` made a text of, pixels in [0, 1]."""
    with Image.open(BytesIO(base64.b64decode(text))) as image:
        return np.asarray(image)[None] / 255


def save_small(figure: Figure, path: Path) -> None:
    """Writes a figure as PNG of few colours."""
    with atomic(path) as temporary:
        Image.fromarray(pixels(figure)).quantize(64).save(temporary, "png", optimize=True)


def draw_comparison(cells: Sequence[dict[str, Any]], path: Path) -> None:
    """The reconstruction of training and of held-out states against the D-score."""
    figure = Figure((10, 3.6), dpi=100, layout="constrained")
    panels = figure.subplots(1, len(CONDITIONS), sharey=True)
    for axes, (key, condition) in zip(panels, CONDITIONS.items(), strict=True):
        for colour, (name, method) in zip(COLOURS, METHODS.items(), strict=True):
            for one in cells:
                if (one["method"], one["condition"]) != (name, key):
                    continue
                place = [one["disentanglement"]] * 2
                axes.plot(place, [one["train"], one["test"]], "-", color=colour, linewidth=1)
                axes.plot(place[0], one["train"], "o", color=colour, markerfacecolor="white")
                axes.plot(place[0], one["alike"], "_", color=colour, markersize=12)
                axes.plot(place[0], one["test"], "o", color=colour, label=method.title)
        axes.set(title=condition.title, xlabel="D-score", xlim=(-0.05, 1.05), yscale="log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.grid(color="#d9d9d9", linewidth=0.6)
        axes.set_axisbelow(True)
    panels[0].set_ylabel("reconstruction, nats")
    handles, labels = panels[0].get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    figure.legend(once.values(), once.keys(), loc="outside lower center", ncols=len(once))
    save_small(figure, path)


def draw_reconstructions(cells: Sequence[dict[str, Any]], path: Path) -> None:
    """Held-out images and what each method makes of them, one block a condition."""
    chosen = {(one["method"], one["condition"]): one["images"] for one in reversed(cells)}
    if len(chosen) < len(METHODS) * len(CONDITIONS):
        return
    rows = [[text for key in CONDITIONS for text in chosen["vae", key]["held_out"]]]
    rows += [[text for key in CONDITIONS for text in chosen[m, key]["made"]] for m in METHODS]
    images = np.stack([np.stack([decoded(text) for text in row]) for row in rows])
    titles = [method.title for method in METHODS.values()]
    columns = [
        condition.title if place == SHOWN // 2 - 1 else ""
        for condition in CONDITIONS.values()
        for place in range(SHOWN)
    ]
    save_small(image_grid(images, ["held out", *titles], columns, blocks=len(CONDITIONS)), path)


def draw_importances(cells: Sequence[dict[str, Any]], path: Path) -> None:
    """Hinton diagrams of the lassos' weights, one row a method and one column a condition."""
    learned = [name for name in METHODS if name != TRUE_FACTORS]
    figure = Figure((10, 6), dpi=100, layout="constrained")
    panels = figure.subplots(len(learned), len(CONDITIONS), squeeze=False)
    for one in reversed(cells):
        if one["method"] == TRUE_FACTORS:
            continue
        row, column = learned.index(one["method"]), [*CONDITIONS].index(one["condition"])
        title = f"{METHODS[one['method']].title}: D-score {one['disentanglement']:.2f}"
        if not row:
            title = f"{CONDITIONS[one['condition']].title}\n\n{title}"
        importance, names = np.array(one["importance"]), DSprites().factors.names
        draw_hinton(panels[row, column], importance, names, title)
    save_small(figure, path)


def write(cells: Sequence[dict[str, Any]], full: bool) -> None:
    """Writes the result with its table, and the pictures."""
    if not cells:
        raise SystemExit("there is no record yet; call without --draw")
    rows = [
        [
            CONDITIONS[one["condition"]].title,
            METHODS[one["method"]].title,
            f"{one['disentanglement']:.2f}",
            f"{one['train']:.1f}",
            f"{one['test']:.1f}",
            f"{one['ratio']:.2f}",
            f"{one['alike']:.1f}",
            f"{one['test'] / one['alike']:.2f}",
        ]
        for one in cells
    ]
    how = "--full" if full else f"--steps {cells[0]['steps']}"
    header = ["condition", "method", "D-score", "training", "held out", "ratio"]
    header += ["training, alike", "ratio"]
    found = {
        "command": f"python benchmarks/reproduce/montero_dsprites.py {how}",
        "cells": list(cells),
        "tables": {"cells": {"header": header, "rows": rows}},
    }
    name = "montero_dsprites_full" if full else "montero_dsprites"
    with atomic(RESULTS / f"{name}.json") as temporary:
        temporary.write_text(json_text(found), encoding="utf-8")
    PICTURES.mkdir(parents=True, exist_ok=True)
    draw_comparison(cells, PICTURES / f"{name}.png")
    draw_reconstructions(cells, PICTURES / f"{name}_images.png")
    draw_importances(cells, PICTURES / f"{name}_hinton.png")


def main() -> None:
    """Trains what has no record yet, and writes the results after each cell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--steps", type=int, default=6000, help="of a cell, without --full")
    parser.add_argument("--full", action="store_true", help="the paper's networks and 100 epochs")
    parser.add_argument("--runs", type=Path, default=Path("runs/montero"))
    parser.add_argument("--draw", action="store_true", help="only draw what there is")
    args = parser.parse_args()
    cells = []
    for seed, condition, method in itertools.product(args.seeds, CONDITIONS, METHODS):
        cell = Cell(method, condition, seed, None if args.full else args.steps)
        path = args.runs / "records" / f"{cell.name}.json"
        if not path.is_file() and not args.draw:
            print(cell.name, flush=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            run, seconds = train(cell, args.runs)
            record = measure(cell, run) | {"processor_seconds": seconds, **machine()}
            with atomic(path) as temporary:
                temporary.write_text(json_text(record), encoding="utf-8")
        if path.is_file():
            cells.append(json.loads(path.read_text(encoding="utf-8")))
            write(cells, args.full)
    write(cells, args.full)


if __name__ == "__main__":
    main()
