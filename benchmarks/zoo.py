"""Makes the models of plugins/dislab-zoo from finished runs, or trains those that are missing.

python benchmarks/zoo.py [NAME …] --runs FOLDER [--train]

The runs lie in FOLDER/NAME/version_*, where `dislab fit --name NAME --runs FOLDER` writes them.
Each of them must have been trained with the committed configuration that `MODELS` gives it, to the
last setting. Its model is written in half precision with card, scores and configuration; single and
half precision are scored on the same images, and both are kept in zoo.json. The newest run of a
name counts.
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, Final, NamedTuple

from dislab.cli.study_runs import resolver
from dislab.codes.checks import ConstantFactorWarning
from dislab.errors import InputError
from dislab.exports import CARD, export
from dislab.metrics import evaluate
from dislab.plugins import load_all
from dislab.runs import CONFIG, SCORES, load_run, open_run, read_scores
from dislab.study.resolving import Resolver
from dislab.yaml_files import read_mapping, yaml_text
from hardware import processor

ROOT = Path(__file__).parents[1]
MODELS_FOLDER = ROOT / "plugins" / "dislab-zoo" / "src" / "dislab_zoo" / "files"
RECORD: Final = "zoo.json"
LARGEST: Final = 30e6
"""Bytes that all models may take."""
IMAGES: Final = 2000
METRICS: Final = ("MIG", "SAP", "FactorVAEScore", "DCI")
COMPARED: Final = ("mig", "sap_r2", "factor_vae_score", "dci_hgbt_disentanglement")

FIRST: Final = "not selected: the run of the command below with its only seed"


class Model(NamedTuple):
    """How a model was trained.

    Attributes:
        configs: Files in `configs/`, the later ones on top.
        options: Options of `dislab fit` on top of them.
        seed: Seed of the training.
        chosen: How the run was selected, which a reader of its scores must know.
        selected: The same in a word or two, for a table.
    """

    configs: tuple[str, ...]
    options: tuple[str, ...]
    seed: int
    chosen: str
    selected: str

    def command(self, name: str) -> list[str]:
        """The command that trains the model, run in the folder of the project."""
        files = [f"--config=configs/{config}.yaml" for config in self.configs]
        seed = f"--seed_everything={self.seed}"
        return ["dislab", "fit", *files, *self.options, seed, f"--name={name}"]


def locatello(method: str, *options: str, seed: int, critic: bool = False) -> Model:
    """A model of the study in configs/studies/locatello_laptop.yaml."""
    parts = ("studies/parts/laptop_dsprites", *(["studies/parts/laptop_critic"] * critic))
    chosen = (
        "the best MIG of the 10 runs of its method (2 strengths × 5 seeds) in the study "
        "configs/studies/locatello_laptop.yaml"
    )
    return Model((method, *parts), options, seed, chosen, "best MIG of 10")


def rooms(method: str, *options: str) -> Model:
    """A model of benchmarks/effects/rooms.py."""
    return Model((method, "rooms"), ("--trainer.accelerator=cpu", *options), 0, FIRST, "no")


_MONTERO = ("studies/parts/laptop_dsprites", "studies/parts/laptop_steps")
_BEST_OF_3 = "of the 3 seeds of its method and condition in the study configs/studies/{}.yaml"

MODELS: Final[dict[str, Model]] = {
    "betavae-dsprites": locatello("betavae", "--model.regularizers.kl.beta=2", seed=2),
    "annealedvae-dsprites": locatello(
        "annealedvae",
        "--model.regularizers.kl.capacity=5",
        "--model.regularizers.kl.gamma=250",
        "--model.regularizers.kl.steps=3000",
        seed=3,
    ),
    "factorvae-dsprites": locatello(
        "factorvae", "--model.regularizers.tc.gamma=2.5", seed=1, critic=True
    ),
    "dipvae1-dsprites": locatello(
        "dipvae1",
        "--model.regularizers.kl.beta=0.25",
        "--model.regularizers.dip.lambda_od=0.25",
        "--model.regularizers.dip.lambda_d=2.5",
        seed=2,
    ),
    "dipvae2-dsprites": locatello(
        "dipvae2",
        "--model.regularizers.kl.beta=0.25",
        "--model.regularizers.dip.lambda_od=0.25",
        "--model.regularizers.dip.lambda_d=0.25",
        seed=4,
    ),
    "betatcvae-dsprites": locatello("betatcvae", "--model.regularizers.kl.beta=2", seed=2),
    "betatcvae-dsprites-correlated": Model(
        ("betatcvae", "studies/parts/laptop_dsprites"),
        (
            "--model.regularizers.kl.beta=2",
            "--data.correlation={factors: [posX, scale], strength: 0.2}",
        ),
        2,
        f"the best MIG {_BEST_OF_3.format('correlated_laptop')}",
        "best MIG of 3",
    ),
    "vae-dsprites-extrapolation": Model(
        ("montero_vae", *_MONTERO, "splits/dsprites_extrapolation_050"),
        ("--model.regularizers.kl.beta=0.25",),
        1,
        f"the best DCI lassocv disentanglement {_BEST_OF_3.format('montero_laptop')}",
        "best DCI lassocv disentanglement of 3",
    ),
    "composition-dsprites-element": Model(
        ("montero_composition", *_MONTERO, "splits/dsprites_r2e_figure"),
        ("--model.beta=0.25",),
        0,
        f"the best DCI lassocv disentanglement {_BEST_OF_3.format('montero_laptop')}",
        "best DCI lassocv disentanglement of 3",
    ),
    "vae-shapes3d": rooms("vae"),
    "betatcvae-shapes3d": rooms("betatcvae"),
    "adamlvae-shapes3d": rooms("adamlvae", "--data.batch_size=32"),
    "factorvae-shapes3d": Model(("factorvae", "first_run"), (), 0, FIRST, "no"),
    "adagvae-shapes3d": Model(("adagvae", "home"), (), 0, FIRST, "no"),
}


def newest(runs: Path, name: str) -> Path | None:
    """The newest finished run of a name."""
    paths = sorted(
        runs.glob(f"{name}/version_*/{SCORES}"), key=lambda path: int(path.parent.name[8:])
    )
    return paths[-1].parent if paths else None


def check(run: Path, name: str, resolve: Resolver) -> None:
    """Refuse a run that the command of its model does not train."""
    recorded = resolve([f"--config={run / CONFIG}"]).training
    committed = resolve(MODELS[name].command(name)[2:]).training
    if different := differences(recorded, committed):
        raise InputError(f"{run} was not trained by the command of {name}: {'; '.join(different)}")


def differences(value: Any, expected: Any, path: str = "") -> list[str]:
    """Places where two settings differ."""
    if isinstance(value, dict) and isinstance(expected, dict):
        keys = sorted({*value, *expected})
        return [
            text
            for key in keys
            for text in differences(value.get(key), expected.get(key), f"{path}.{key}")
        ]
    return [] if value == expected else [f"{path[1:]} is {value!r}, not {expected!r}"]


def rescore(folder: Path) -> dict[str, float]:
    """The compared scores of the model in a folder, on some of its images."""
    opened = open_run(folder)
    some = opened.encode("all", IMAGES)
    with warnings.catch_warnings():  # some of the data sets hold a factor at one value
        warnings.simplefilter("ignore", ConstantFactorWarning)
        scores = evaluate(some.codes, some.factors, METRICS, space=opened.data.factors)
    return {name: scores[name] for name in COMPARED}


def pack(run: Path, name: str, resolve: Resolver) -> None:
    """Write the folder of a model."""
    check(run, name, resolve)
    model = MODELS[name]
    with tempfile.TemporaryDirectory() as temporary:
        source, export_folder = Path(temporary, "zoo", name), Path(temporary, "made")
        source.mkdir(parents=True)
        (source / "checkpoints").symlink_to((run / "checkpoints").resolve())
        shutil.copyfile(run / SCORES, source / SCORES)
        # name and place of the run say nothing of the model
        settings = read_mapping(run / CONFIG, "model: {class_path: VAE}")
        settings |= {"name": name, "runs": "runs"}
        (source / CONFIG).write_text(yaml_text(settings), encoding="utf-8")
        [weights, *_] = export(source, export_folder, ["safetensors"], half=True)
        test = read_scores(source)["test"]
        datasets = load_all(("datasets",))["datasets"]
        record = {
            "method": settings["model"]["class_path"].rpartition(".")[2],
            "data": test["data"]["dataset"],
            "provenance": test["data"]["provenance"].get("source"),
            "data_licence": datasets[test["data"]["dataset"]].licence,
            "image_shape": list(load_run(source).hparams["image_shape"]),
            "steps": test["checkpoint"]["steps"],
            "seed": model.seed,
            "chosen": model.chosen,
            "selected": model.selected,
            "command": model.command(name),
            "largest_difference": weights.difference,
            "rescored": {
                "images": IMAGES,
                "single": rescore(source),
                "half": rescore(export_folder),
                "hardware": processor(),
            },
        }
        (export_folder / RECORD).write_text(
            json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        card = (export_folder / CARD).read_text(encoding="utf-8")
        (export_folder / CARD).write_text(with_zoo(card, name, record), encoding="utf-8")
        target = MODELS_FOLDER / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(export_folder, target)


def with_zoo(card: str, name: str, record: dict[str, Any]) -> str:
    """The card with its name in the zoo, how the run was chosen, and what half precision costs."""
    head, _, body = card.partition("\n# ")
    head = head.replace("---\n", "---\nlicense: apache-2.0\n", 1)
    _, _, body = body.partition("\n")
    program, verb, *options = map(shlex.quote, record["command"])
    command = " \\\n  ".join([f"{program} {verb}", *options])
    rescored = record["rescored"]
    rows = [
        f"| `{score}` | {rescored['single'][score]:.3f} | {rescored['half'][score]:.3f} |"
        for score in COMPARED
    ]
    return "\n".join(
        [
            head,
            f"# zoo/{name}",
            body.rstrip(),
            "",
            "## In the zoo",
            "",
            "```python",
            "from dislab_zoo import load",
            "",
            f'model = load("zoo/{name}")',
            "```",
            "",
            f"Selection: {record['chosen']}. The table of scores above is of single precision.",
            "",
            f"Training, in a clone of dislab:\n\n```bash\n{command}\n```",
            "",
            f'Scores on {IMAGES:,} images that `open_run(FOLDER).encode("all", {IMAGES})` draws:',
            "",
            "| score | single precision | half precision, as stored |",
            "|---|---|---|",
            *rows,
            "",
            f"The weights have the licence Apache-2.0. Data: {record['data_licence']}.",
            "",
        ]
    )


def train(name: str, runs: Path) -> None:
    """Train one model."""
    _, *args = MODELS[name].command(name)
    command = [sys.executable, "-m", "dislab", *args, f"--runs={runs.resolve()}"]
    subprocess.run(command, cwd=ROOT, check=True)


def size() -> int:
    """Bytes of all models."""
    return sum(path.stat().st_size for path in MODELS_FOLDER.rglob("*") if path.is_file())


def main() -> None:
    """Pack the named models, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[[], *MODELS], default=[])
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--train", action="store_true", help="train models without a finished run")
    args = parser.parse_args()
    resolve = resolver()
    for name in args.names or MODELS:
        run = newest(args.runs, name)
        if run is None and args.train:
            train(name, args.runs)
            run = newest(args.runs, name)
        if run is None:
            parser.error(f"{args.runs / name} holds no finished run; add --train to train it")
        pack(run, name, resolve)
        print(f"{name}: {size() / 1e6:.1f} MB in all", flush=True)
    if size() > LARGEST:
        sys.exit(f"the models take {size() / 1e6:.1f} MB; at most {LARGEST / 1e6:.0f} are meant")


if __name__ == "__main__":
    main()
