"""The table of the SCAN paper in small: how right and how diverse are images of new concepts?

python benchmarks/effects/scan.py [--images sprites|rooms] [--steps 6000] [--seed 0] [--runs FOLDER]

The images have 32×32 pixels. `sprites` are the upright sprites of dSprites, described by shape and
by thirds of scale and coordinates; `rooms` are rooms of the 3D Shapes look-alike, seen from the
front with the largest object, described by the colours of floor, wall and object and by shape.
Combinations of attributes are held out of all descriptions, and each method draws images of these.
Every model is trained by `dislab fit` from its configuration, with networks of fully connected
layers; what has been trained already is kept, so that a run that was stopped goes on. Writes
benchmarks/results/scan.json and docs/images/methods/scan_concepts.png; for rooms their names end
in `_shapes3d`.
"""

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pictures import save

from dislab import runs
from dislab.codes.concepts import concept_accuracy, concept_diversity
from dislab.functional.streams import Stream
from dislab.functional.symbols import factor_of_each
from dislab.plots import image_grid
from dislab.storage import atomic

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PICTURES = ROOT / "docs" / "images" / "methods"
OPERATORS = {
    "and": "AND",
    "in_common": "IN COMMON",
    "disagreeing": "IN COMMON of concepts that disagree",
    "ignore": "IGNORE",
}
"""Names of the operators in the table."""
ADAM = "--model.optimizer={class_path: torch.optim.Adam, init_args: {lr: 1.0e-3}}"
NETWORKS = (
    "--model.encoder={class_path: MLPEncoder, init_args: {hidden: [256, 256]}}",
    "--model.decoder={class_path: MLPDecoder, init_args: {hidden: [256, 256]}}",
)
HUES = ("red", "orange", "lime", "green", "mint", "cyan", "azure", "blue", "violet", "pink")


class Images(NamedTuple):
    """The images that models learn from.

    Attributes:
        options: Settings of the data module that choose them.
        configs: Configurations made for them, by those for dSprites.
        attributes: The factors that are described, each with its attributes.
        held_out: Combinations that no description names, of which images are drawn.
        pictured: Concepts of the picture, from abstract to particular.
        ending: End of the names of the files that are written.
        colours: Number of colours of the picture's file.
    """

    options: tuple[str, ...]
    configs: dict[str, str]
    attributes: dict[str, dict[str, float] | None]
    held_out: tuple[tuple[str, ...], ...]
    pictured: tuple[tuple[str, ...], ...]
    ending: str
    colours: int

    @property
    def symbols(self) -> tuple[str, ...]:
        """Settings of the data module that describe the images."""
        attributes, held_out = json.dumps(self.attributes), json.dumps(self.held_out)
        return (
            f"--data.attributes={attributes}",
            f"--data.held_out={held_out}",
            "--data.validation=0.3",
        )


IMAGES = {
    "sprites": Images(
        options=(
            "--data.include={orientation: {max: 0}}",
            "--data.resize=32",
            "--data.test=0.2",
        ),
        configs={},
        attributes=dict.fromkeys(("shape", "scale", "posX", "posY")),
        held_out=(
            ("shape=square", "posX=low"),
            ("shape=ellipse", "posY=high"),
            ("shape=heart", "posX=high"),
            ("scale=low", "posY=low"),
            ("scale=high", "posX=middle"),
            ("posX=low", "posY=high"),
            ("posX=high", "posY=low"),
            ("shape=heart", "scale=high", "posY=middle"),
            ("shape=square", "scale=middle", "posX=high"),
            ("scale=low", "posX=middle", "posY=high"),
        ),
        pictured=(("posX=low",), ("posX=low", "posY=high"), ("shape=heart", "posX=high")),
        ending="",
        colours=24,
    ),
    "rooms": Images(
        options=(
            "--data.dataset=Shapes3D",
            "--data.include={scale: {min: 1.25}, orientation: {min: -10, max: 10}}",
            "--data.resize=32",
            "--data.test=0.2",
        ),
        configs={
            "scan_vision": "scan_vision_shapes3d",
            "scan": "scan_shapes3d",
            "scan_u": "scan_shapes3d",
        },
        attributes={
            **{
                name: {hue: index / 10 for index, hue in enumerate(HUES)}
                for name in ("floor_hue", "wall_hue", "object_hue")
            },
            "shape": None,
        },
        held_out=(
            ("floor_hue=red", "wall_hue=cyan"),
            ("floor_hue=blue", "object_hue=lime"),
            ("floor_hue=mint", "shape=sphere"),
            ("wall_hue=orange", "object_hue=violet"),
            ("wall_hue=pink", "shape=cube"),
            ("object_hue=green", "shape=cylinder"),
            ("floor_hue=azure", "wall_hue=red", "object_hue=orange"),
            ("floor_hue=pink", "wall_hue=green", "shape=capsule"),
            ("wall_hue=azure", "object_hue=red", "shape=sphere"),
            ("floor_hue=violet", "wall_hue=lime", "object_hue=cyan", "shape=cube"),
        ),
        pictured=(
            ("wall_hue=cyan",),
            ("floor_hue=red", "wall_hue=cyan"),
            ("wall_hue=azure", "object_hue=red", "shape=sphere"),
        ),
        ending="_shapes3d",
        colours=256,
    ),
}


class Model(NamedTuple):
    """How a model is trained.

    Attributes:
        config: Its configuration for dSprites.
        options: What differs from it.
        described: Whether it learns from descriptions.
        needs: The option that names the run it starts from, and whose it is.
        title: What the table calls it; empty for a model that draws no concepts.
    """

    config: str
    options: tuple[str, ...]
    described: bool = True
    needs: tuple[str, str] | None = None
    title: str = ""


MODELS = {
    "vision": Model("scan_vision", NETWORKS, described=False),
    "vision_u": Model("scan_vision_u", NETWORKS, described=False),
    "scan": Model("scan", (), needs=("--model.vision", "vision"), title="SCAN"),
    "scan_r": Model(
        "scan",
        ("--model.divergence=reverse",),
        needs=("--model.vision", "vision"),
        title="SCAN_R",
    ),
    "scan_u": Model("scan_u", (), needs=("--model.vision", "vision_u"), title="SCAN_U"),
    "jmvae": Model("jmvae", NETWORKS, title="JMVAE"),
    "telbo": Model("telbo", NETWORKS, title="TELBO"),
    "recombinator": Model(
        "scan_recombinator", (), needs=("--model.scan", "scan"), title="SCAN's operators"
    ),
}


def train(name: str, options: argparse.Namespace) -> Path:
    """The finished run of a model, trained if there is none."""
    images, model = IMAGES[options.images], MODELS[name]
    folder = options.runs / f"steps{options.steps}-seed{options.seed}{images.ending}"
    for run in sorted((folder / name).glob("version_*")):
        if (run / "seconds.json").is_file():
            return run
    command = [sys.executable, "-m", "dislab", "fit"]
    config = images.configs.get(model.config, model.config)
    command += [f"--config={ROOT / 'configs' / config}.yaml", f"--name={name}", ADAM]
    command += [*images.options, *(images.symbols if model.described else ()), *model.options]
    command += [f"--runs={folder}", f"--seed_everything={options.seed}"]
    command += [f"--trainer.max_steps={options.steps}", "--trainer.accelerator=cpu"]
    command += ["--data.batch_size=64"]
    if model.needs:
        option, needed = model.needs
        command += [f"{option}={train(needed, options)}"]
    if model.described:
        command += ["--evaluate.metrics=null"]
    print(name, flush=True)
    start = time.perf_counter()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    run = max((folder / name).glob("version_*"), key=lambda path: int(path.name[8:]))
    with atomic(run / "seconds.json") as temporary:
        temporary.write_text(json.dumps(round(time.perf_counter() - start)))
    return run


def record(run: Path) -> dict[str, Any]:
    """The results of a run."""
    records = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    scores = {"seconds": json.loads((run / "seconds.json").read_text())}
    for stage in ("test", "test_concepts"):
        if records.get(stage, {}).get("scores"):
            scores[stage] = records[stage]["scores"]
    if "test_concepts" in records:
        scores["concepts"] = records["test_concepts"]["concepts"]
    return scores


def chance(names: Sequence[str], concepts: Sequence[Sequence[str]]) -> dict[str, float]:
    """Mean scores of a hundred images that show each attribute of a factor equally often."""
    factor = torch.tensor(factor_of_each(names))
    equally = torch.rand(100, len(names), generator=torch.Generator().manual_seed(0))
    read = torch.stack(
        [
            equally.masked_fill(factor != index, -1).argmax(1)
            for index in range(int(factor.max()) + 1)
        ],
        dim=1,
    )
    scores: dict[str, list[float]] = {"accuracy": [], "diversity": []}
    for concept in concepts:
        symbol = torch.tensor([float(name in concept) for name in names])
        scores["accuracy"].append(concept_accuracy(read, symbol, factor))
        scores["diversity"].append(concept_diversity(read, symbol, factor))
    return {
        name: statistics.fmean(value for value in values if not math.isnan(value))
        for name, values in scores.items()
    }


def tables(records: dict[str, Any], guess: dict[str, float]) -> dict[str, Any]:
    """Rows for the docs: of methods, and of SCAN's operators."""

    def row(title: str, scores: dict[str, float], kind: str = "") -> list[str]:
        return [title, *(f"{scores[f'{key}{kind}']:.2f}" for key in ("accuracy", "diversity"))]

    header = ["method", "accuracy", "diversity, nats", "wall time"]
    rows = [
        [*row(model.title, records[name]["test_concepts"]), f"{records[name]['seconds']} s"]
        for name, model in MODELS.items()
        if model.title
    ]
    scores = records["recombinator"]["test_concepts"]
    operators = [row(title, scores, f"/{kind}") for kind, title in OPERATORS.items()]
    return {
        "scan": {
            "header": header,
            "rows": [*rows, [*row("chance (random attributes)", guess), "—"]],
        },
        "operators": {
            "header": ["operator", *header[1:3]],
            "rows": [*operators, row("chance (random attributes)", guess)],
        },
    }


def draw(runs_by_method: dict[str, Path], images: Images, seed: int) -> None:
    """Images of some concepts: one row a method, one block of columns a concept."""
    rows, titles = [], []
    for name, model in MODELS.items():
        if not model.title or name == "recombinator":
            continue
        method: Any = runs.load_run(runs_by_method[name])
        symbols = symbol_names(runs_by_method[name])
        row = []
        for concept in images.pictured:
            symbol = torch.zeros(6, len(symbols))
            symbol[:, [symbols.index(word) for word in concept]] = 1
            draws = method.draw(6, Stream(seed))
            with torch.no_grad():
                row.append(method.sym2img(symbol, draws))
        rows.append(torch.cat(row))
        titles.append(model.title)
    labels = [
        " ".join(concept) if column == 0 else ""
        for concept in images.pictured
        for column in range(6)
    ]
    figure = image_grid(torch.stack(rows).numpy(), titles, labels, blocks=len(images.pictured))
    save(figure, PICTURES / f"scan_concepts{images.ending}.png", images.colours)


def symbol_names(run: Path) -> list[str]:
    """The attributes that a run knows."""
    return list(runs.load_run(run).hparams["symbol_names"])


def main() -> None:
    """Trains what has not been trained yet, and writes what all reached."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--images", choices=list(IMAGES), default="sprites")
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=Path, default=Path("runs/scan_table"))
    options = parser.parse_args()
    images = IMAGES[options.images]
    runs_by_method = {name: train(name, options) for name in MODELS}
    records = {name: record(run) for name, run in runs_by_method.items()}
    draw(runs_by_method, images, options.seed)
    guess = chance(symbol_names(runs_by_method["scan"]), images.held_out)
    command = f"--images {options.images} --steps {options.steps} --seed {options.seed}"
    result = {
        "command": f"python benchmarks/effects/scan.py {command}",
        "settings": {"steps": options.steps, "seed": options.seed, "held_out": images.held_out},
        "models": records,
        "chance": guess,
        "tables": tables(records, guess),
        "hardware": f"{os.cpu_count()}-core {platform.machine()}, one thread each",
        "versions": runs.versions(),
    }
    with atomic(RESULTS / f"scan{images.ending}.json") as temporary:
        temporary.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
