"""The table of the SCAN paper in small: how right and how diverse are images of new concepts?

python benchmarks/effects/scan.py [--steps 6000] [--seed 0] [--runs FOLDER]

The upright sprites of dSprites at 32×32 pixels, described by shape and by thirds of scale and
coordinates. Combinations of attributes are held out of all descriptions, and each method draws
images of these. Every model is trained by `dislab fit` from its configuration, with networks of
fully connected layers; what has been trained already is kept, so that a run that was stopped goes
on. Writes benchmarks/results/scan.json and docs/images/methods/scan_concepts.png.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pictures import save

from dislab import runs
from dislab.functional.streams import Stream
from dislab.plots import image_grid
from dislab.storage import atomic

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "scan.json"
PICTURE = ROOT / "docs" / "images" / "methods" / "scan_concepts.png"
HELD_OUT = (
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
)
DRAWN = (("posX=low",), ("posX=low", "posY=high"), ("shape=heart", "posX=high"))
"""Concepts of the picture, from abstract to particular; the last two are held out."""
ADAM = "--model.optimizer={class_path: torch.optim.Adam, init_args: {lr: 1.0e-3}}"
NETWORKS = (
    "--model.encoder={class_path: MLPEncoder, init_args: {hidden: [256, 256]}}",
    "--model.decoder={class_path: MLPDecoder, init_args: {hidden: [256, 256]}}",
)
SPRITES = ("--data.include={orientation: {max: 0}}", "--data.resize=32", "--data.test=0.2")
SYMBOLS = (
    "--data.attributes={shape: null, scale: null, posX: null, posY: null}",
    f"--data.held_out={json.dumps(HELD_OUT)}",
    "--data.validation=0.3",
)


class Model(NamedTuple):
    """How a model is trained.

    Attributes:
        config: Its configuration.
        options: What differs from it.
        needs: The option that names the run it starts from, and whose it is.
        title: What the table calls it; empty for a model that draws no concepts.
    """

    config: str
    options: tuple[str, ...]
    needs: tuple[str, str] | None = None
    title: str = ""


MODELS = {
    "vision": Model("scan_vision", NETWORKS),
    "vision_u": Model("scan_vision_u", NETWORKS),
    "scan": Model("scan", SYMBOLS, ("--model.vision", "vision"), "SCAN"),
    "scan_r": Model(
        "scan",
        (*SYMBOLS, "--model.divergence=reverse"),
        ("--model.vision", "vision"),
        "SCAN_R",
    ),
    "scan_u": Model("scan_u", SYMBOLS, ("--model.vision", "vision_u"), "SCAN_U"),
    "jmvae": Model("jmvae", (*SYMBOLS, *NETWORKS), None, "JMVAE"),
    "telbo": Model("telbo", (*SYMBOLS, *NETWORKS), None, "TELBO"),
    "recombinator": Model(
        "scan_recombinator", SYMBOLS, ("--model.scan", "scan"), "SCAN's operators"
    ),
}


def train(name: str, options: argparse.Namespace) -> Path:
    """The finished run of a model, trained if there is none."""
    folder, model = options.runs / f"steps{options.steps}-seed{options.seed}", MODELS[name]
    for run in sorted((folder / name).glob("version_*")):
        if (run / "seconds.json").is_file():
            return run
    command = [sys.executable, "-m", "dislab", "fit"]
    command += [f"--config={ROOT / 'configs' / model.config}.yaml", f"--name={name}", ADAM]
    command += [*SPRITES, *model.options, f"--runs={folder}", f"--seed_everything={options.seed}"]
    command += [f"--trainer.max_steps={options.steps}", "--trainer.accelerator=cpu"]
    command += ["--data.batch_size=64"]
    if model.needs:
        option, needed = model.needs
        command += [f"{option}={train(needed, options)}", "--evaluate.metrics=null"]
    elif model.title:
        command += ["--evaluate.metrics=null"]
    print(name, flush=True)
    start = time.perf_counter()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    run = max((folder / name).glob("version_*"), key=lambda one: int(one.name[8:]))
    with atomic(run / "seconds.json") as temporary:
        temporary.write_text(json.dumps(round(time.perf_counter() - start)))
    return run


def record(run: Path) -> dict[str, Any]:
    """What a run reached."""
    found = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    kept = {"seconds": json.loads((run / "seconds.json").read_text())}
    for stage in ("test", "test_concepts"):
        if found.get(stage, {}).get("scores"):
            kept[stage] = found[stage]["scores"]
    if "test_concepts" in found:
        kept["concepts"] = found["test_concepts"]["concepts"]
    return kept


def table(records: dict[str, Any]) -> dict[str, Any]:
    """Rows for the docs."""
    rows = []
    for name, model in MODELS.items():
        scores = records[name].get("test_concepts")
        if model.title and scores:
            numbers = [f"{scores[key]:.2f}" for key in ("accuracy", "diversity")]
            rows.append([model.title, *numbers, f"{records[name]['seconds']} s"])
    return {"header": ["method", "accuracy", "diversity, nats", "wall time"], "rows": rows}


def draw(found: dict[str, Path], seed: int) -> None:
    """Images of some concepts: one row a method, one block of columns a concept."""
    rows, titles = [], []
    for name, model in MODELS.items():
        if not model.title or name == "recombinator":
            continue
        method: Any = runs.load_run(found[name])
        symbols = list(method.hparams["symbol_names"])
        row = []
        for concept in DRAWN:
            symbol = torch.zeros(6, len(symbols))
            symbol[:, [symbols.index(one) for one in concept]] = 1
            draws = method.draw(6, Stream(seed))
            with torch.no_grad():
                row.append(method.sym2img(symbol, draws))
        rows.append(torch.cat(row))
        titles.append(model.title)
    labels = [" ".join(concept) if place == 0 else "" for concept in DRAWN for place in range(6)]
    figure = image_grid(torch.stack(rows).numpy(), titles, labels, blocks=len(DRAWN))
    save(figure, PICTURE, 24)


def main() -> None:
    """Trains what has not been trained yet, and writes what all reached."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=Path, default=Path("runs/scan_table"))
    options = parser.parse_args()
    found = {name: train(name, options) for name in MODELS}
    records = {name: record(run) for name, run in found.items()}
    draw(found, options.seed)
    result = {
        "command": f"python benchmarks/effects/scan.py --steps {options.steps}",
        "settings": {"steps": options.steps, "seed": options.seed, "held_out": HELD_OUT},
        "models": records,
        "tables": {"scan": table(records)},
        "hardware": f"{os.cpu_count()}-core {platform.machine()}, one thread each",
        "versions": runs.versions(),
    }
    with atomic(RESULT) as temporary:
        temporary.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
