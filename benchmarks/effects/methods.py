"""Trains every configuration for a small budget, and keeps its scores and a picture.

python benchmarks/effects/methods.py [NAME …] [--steps 1000] [--seed 0] [--runs FOLDER]

Each method is trained by `dislab fit` in a process of its own, with `configs/quick.yaml` on top.
Writes benchmarks/results/methods.json, one record a method, after each of them, and its picture to
docs/images/methods/; methods that have a record with the same settings are left out, so that a run
that was stopped goes on. The table of docs/methods/index.md is made of the records.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image
from sklearn.datasets import load_digits

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "methods.json"
PICTURES = ROOT / "docs" / "images" / "methods"
WIDTH = 900
"""Pixels of a picture in the docs."""
HEIGHT = 326
"""Likewise; ten rows of a traversal, which begin with those latents that say most."""


class Method(NamedTuple):
    """How a configuration is trained here.

    Attributes:
        options: What differs from the configuration and the overlay; `{digits}` stands for a
            folder with the digits that come with scikit-learn.
        steps: Multiplies the number of steps, such as for a critic's own ones.
        picture: Which of the run's pictures is shown; empty where `rooms.py` draws one.
        needs: The method whose run it starts from, and the option that names it.
    """

    options: tuple[str, ...] = ()
    steps: int = 1
    picture: str = "traversals"
    needs: tuple[str, str] | None = None


HEADS = "{identities: 24, azimuths: 15, elevations: 7, lights: 9}"
LATENTS = "{azimuth: 1, elevation: 1, light: 1, intrinsic: 7}"
CAPACITY = (
    "--model.regularizers.kl.steps=1000",
    "--model.regularizers.kl.capacity=15",
    "--model.regularizers.kl.gamma=20",  # 1000 buys capacity faster than such a run can use it
)
UPRIGHT = ("--data.include={orientation: {max: 0}}", "--data.resize=32")
METHODS = {
    "vae": Method(picture=""),
    "betavae": Method(picture=""),
    "annealedvae": Method(CAPACITY, picture=""),
    "burgess": Method(  # three fully connected layers in a row take longer to draw anything
        (*CAPACITY[1:], "--model.regularizers.kl.steps=4000"), steps=4
    ),
    "factorvae": Method(("--model.regularizers.tc.lr=1e-3",), picture=""),
    "betatcvae": Method(picture=""),
    "dipvae1": Method(picture=""),
    "dipvae2": Method(picture=""),
    "adagvae": Method(picture=""),
    "adagvae_transitions": Method(),
    "adamlvae": Method(picture=""),
    "dcign_heads": Method(
        (
            f"--data.dataset={{class_path: ParametricHeads, init_args: {HEADS}}}",
            f"--model.latents={LATENTS}",
        ),
        steps=2,
        picture="",  # benchmarks/effects/heads.py draws one
    ),
    "infogan_mnist": Method(
        (
            "--data.dataset={class_path: FolderDataset, init_args: {folder: {digits}}}",
            "--model.noise_dim=16",
            "--model.generator.channels=[32, 16]",
            "--model.generator.hidden=128",
            "--model.critic.channels=[16, 32]",
            "--model.critic.hidden=128",
            "--evaluate.metrics={mig: MIG}",  # there is one factor, the digit
        ),
        steps=3,
    ),
    "infowgangp": Method(
        (
            *UPRIGHT,
            "--model.generator=MLPDecoder",
            "--model.generator.hidden=[256, 256]",
            "--model.critic=MLPEncoder",
            "--model.critic.hidden=[256, 256]",
            "--model.lr=5e-4",
        ),
        steps=60,
    ),
    "gtdecoder": Method(),
    "bottleneck": Method(
        (
            "--model.gamma=100",
            "--model.capacity=10",
            "--model.steps=1000",
        )
    ),
    "composition": Method(
        (
            *UPRIGHT,
            "--model.encoder={class_path: MLPEncoder, init_args: {hidden: [256, 256]}}",
            "--model.decoder={class_path: MLPDecoder, init_args: {hidden: [256, 256]}}",
        ),
        steps=4,
        picture="reconstructions",
    ),
    "dae": Method(picture="reconstructions"),
    "betavae_dae": Method(needs=("dae", "--model.dae")),
}


def train(name: str, steps: int, seed: int, runs: Path) -> dict[str, Any]:
    """Trains one method and returns its record."""
    method = METHODS[name]
    options = [
        text.replace("{digits}", str(digits(runs))) if "{digits}" in text else text
        for text in method.options
    ]
    options += [f"--trainer.max_steps={steps * method.steps}"]
    options += [f"--trainer.val_check_interval={steps * method.steps}", "--evaluate.untrained=0"]
    options += [f"--seed_everything={seed}", f"--runs={runs}", "--trainer.accelerator=cpu"]
    configs = [f"--config={ROOT / 'configs' / file}.yaml" for file in (name, "quick")]
    if method.needs:
        needed, option = method.needs
        options.append(f"{option}={latest(runs, needed)}")
    start = time.perf_counter()
    command = [sys.executable, "-m", "dislab", "fit", *configs, *options]
    done = subprocess.run(command, env=environment(), check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    run = latest(runs, name)
    record = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    picture = run / "images" / f"{method.picture}.png"
    if method.picture:
        shrink(picture, PICTURES / f"{name}.png")
    losses = record["test"]["losses"]
    return {
        "options": list(method.options),
        "steps": steps * method.steps,
        "seed": seed,
        "seconds": round(time.perf_counter() - start),
        "scores": record["test"]["scores"],
        "losses": {key: value for key, value in losses.items() if key.count("/") == 1},
    }


def digits(runs: Path) -> Path:
    """A folder with the 1,797 digits of 8×8 pixels that come with scikit-learn, and their table."""
    folder = runs / "digits"
    if not (folder / "factors.csv").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        data = load_digits()
        rows = ["file,digit"]
        for index, (image, digit) in enumerate(zip(data.images, data.target, strict=True)):
            pixels = (image * (255 / 16)).round().astype("uint8")
            Image.fromarray(pixels).save(folder / f"{index}.png")
            rows.append(f"{index}.png,{digit}")
        (folder / "factors.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder.resolve()


def latest(runs: Path, name: str) -> Path:
    """The newest run folder of a method."""
    folders = sorted((runs / name).glob("version_*"), key=lambda path: int(path.name[8:]))
    if not folders:
        raise SystemExit(f"there is no run of {name} in {runs}; train it first")
    return folders[-1]


def shrink(source: Path, target: Path) -> None:
    """Writes a picture at the docs' width."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(source) as picture:
        size = (WIDTH, round(picture.height * WIDTH / picture.width))
        small = picture.convert("RGB").resize(size) if picture.width > WIDTH else picture
        small = small.crop((0, 0, small.width, min(small.height, HEIGHT)))
        small.quantize(64).save(target, optimize=True)


def environment() -> dict[str, str]:
    """One thread, so that two methods can be trained side by side."""
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def main() -> None:
    """Trains what has no record yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[[], *METHODS], default=[])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=Path, default=Path("runs/methods"))
    args = parser.parse_args()
    for name in args.names or METHODS:
        old = read_results()["methods"].get(name, {})
        settings = (args.steps * METHODS[name].steps, args.seed, [*METHODS[name].options])
        if (old.get("steps"), old.get("seed"), old.get("options")) == settings:
            continue
        print(name, flush=True)
        record = train(name, args.steps, args.seed, args.runs)
        results = read_results()  # as it is now: another process may train other methods
        results["methods"][name] = record
        results["command"] = f"python benchmarks/effects/methods.py --steps {args.steps}"
        results["hardware"] = f"{os.cpu_count()}-core {platform.machine()}, one thread each"
        results["versions"] = {
            package: version(package) for package in ("dislab", "torch", "lightning")
        }
        results["versions"]["python"] = platform.python_version()
        write(results)
    write(read_results())


def read_results() -> dict[str, Any]:
    """The records so far."""
    return json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.is_file() else {"methods": {}}


def write(results: dict[str, Any]) -> None:
    """Writes the records, and the table that the docs show of them."""
    scores = {
        "mig": "MIG",
        "dci_hgbt_disentanglement": "DCI disentanglement",
        "factor_vae_score": "FactorVAE score",
    }
    rows = []
    for name in (name for name in METHODS if name in results["methods"]):
        record = results["methods"][name]
        loss = record["losses"].get("test/reconstruction")
        row = [f"`{name}`", f"{record['steps']:,}", f"{record['seed']}"]
        row.append(f"{record['seconds'] / 60:.1f} min")
        row.append("" if loss is None else f"{loss:.1f}")
        for score in scores:
            value = record["scores"].get(score)
            row.append("" if value is None else f"{value:.3f}")
        rows.append(row)
    header = [
        "configuration",
        "steps",
        "seed",
        "wall time",
        "reconstruction, nats",
        *scores.values(),
    ]
    results["tables"] = {"methods": {"header": header, "rows": rows}}
    temporary = RESULT.with_suffix(".tmp")
    temporary.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    temporary.replace(RESULT)


if __name__ == "__main__":
    main()
