"""Scores of the methods of dislab-identify on drawn worlds, for their pages in docs/methods.

python benchmarks/identify.py [--parts panels inversion normals spiral]

Where dislab-identify is installed. Runs that benchmarks/results/identify.json has are kept, so that
a stopped study goes on; `--table` writes the tables without training. Some steps are fewer than
published: see STEPS. The study icebeem.yaml of the plug-in trains the panels too; here are what no
score of a run can be: protocols that choose codes by the true sources, ICA after TCL, linear codes.
"""

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("OMP_NUM_THREADS", "1")

import lightning.pytorch as pl
import numpy as np
import torch
from sklearn.decomposition import PCA, FastICA
from torch import Tensor, nn

from dislab.base import Encoder, ImageShape, Objective
from dislab.datamodules import SingleData
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.runs import versions
from dislab.storage.writing import atomic
from dislab_identify import IVAE, TCL, ContrastiveInversion, DrawnWorld, LeJEPA, StepData
from dislab_identify.consistency import agreement, chance
from dislab_identify.ivae import combined
from hardware import processor

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = ROOT / "benchmarks/results/identify.json"
STEPS: Final = {
    "IVAE": 6000,
    "TCL": 20_000,
    "TCL square": 20_000,
    "ContrastiveInversion": 10_000,
    "IVAE long": 70_000,
}
"""Steps of a run; as published those of TCL and of the long run of iVAE."""
SEEDS: Final = dict.fromkeys(("panels", "inversion", "normals", "spiral"), range(3))
CURVE: Final = (1000, 5000, 20_000)
"""Steps of LeJEPA, the last as published and with one seed."""
LAYERS: Final = (2, 4)
PUBLISHED: Final = {(2, "IVAE"): 0.92, (2, "TCL"): 0.90, (4, "IVAE"): 0.74, (4, "TCL"): 0.83}
"""Khemakhem et al. (2020), figure 2, read by eye, ±0.02: 2,000 points a segment."""
SHAPES: Final = (1.0, 2.0, 8.0)
"""Exponents of the generalised normal sources of LeJEPA."""
SPIRAL_SHAPES: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Exponents of the sources of the spiral, a part of the nine published ones, 1/8 to 32."""
SPIRAL_PUBLISHED: Final = "above 0.97"
"""Klindt et al. (2026), App. H.6, and figure 4b, which peaks at Gaussian sources."""
WORLDS: Final = {"laplace": 1.0, "gaussian": 2.0, "generalised_normal": 3.0}
"""Steps of the contrastive worlds, with the exponent of their density."""

Array = np.ndarray[Any, np.dtype[np.float64]]
Scores = dict[str, float]


def train(model: Objective, data: Any, steps: int) -> None:
    """Trains in place."""
    trainer = pl.Trainer(
        max_steps=steps,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        limit_val_batches=0,
    )
    trainer.fit(model.train(), data)


def encode(model: Objective, vectors: Array) -> Array:
    """Codes of vectors, shape (row, latent)."""
    with torch.inference_mode():
        codes = model.eval().codes(torch.from_numpy(vectors).float()[:, :, None, None])
    return np.asarray(codes.double().numpy())


def ica(codes: Array, rows: Array | None = None) -> Array:
    """Independent components of rows, fitted on codes."""
    model = FastICA(whiten="unit-variance", random_state=0, max_iter=1000).fit(codes)
    return np.asarray(model.transform(codes if rows is None else rows))


def linear(sources: Array, vectors: Array) -> Scores:
    """What needs no training: PCA, FastICA, perfect unmixing and chance, by MCC on all rows."""
    return {
        "PCA": agreement(PCA().fit_transform(vectors), sources),
        "FastICA": agreement(ica(vectors), sources),
        "perfect": agreement(sources, sources),
        "chance": chance(sources, sources),
    }


def ivae_scores(model: Any, world: DrawnWorld, test: Any) -> Scores:
    """MCC of the encoder's means on test points, and the best of three codes on all points."""
    vectors, sources = world.content.vectors, world.latents
    segment = torch.from_numpy(np.repeat(np.arange(world.segments), world.points))
    images = torch.from_numpy(vectors)[:, :, None, None]
    with torch.inference_mode():
        message = model.eval().encode(images)
        given = combined(message, model.prior_log_var[segment])
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(given.mean.shape, generator=generator)
    drawn = given.mean + (0.5 * given.log_var).exp() * noise
    means = message.mean.double().numpy()
    codes = [means, given.mean.double().numpy(), drawn.double().numpy()]
    return {
        "honest": agreement(means[test], sources[test]),
        "published": max(agreement(code, sources) for code in codes),
    }


def tcl_scores(model: Any, world: DrawnWorld, test: Any) -> Scores:
    """MCC of signed codes; and of |z|, with and without ICA, with the squared sources."""
    sources, signed = world.latents, encode(model, world.content.vectors)
    train_rows = np.setdiff1d(np.arange(len(sources)), test)
    sizes, squares = np.abs(signed), sources**2
    whole = [agreement(sizes, squares), agreement(ica(sizes), squares)]
    powers = signed**2
    return {
        "signed": agreement(signed[test], sources[test]),
        "signed ICA": agreement(ica(signed[train_rows], signed[test]), sources[test]),
        "sizes": agreement(sizes[test], squares[test]),
        "sizes ICA": agreement(ica(sizes[train_rows], sizes[test]), squares[test]),
        "squares ICA": agreement(ica(powers[train_rows], powers[test]), squares[test]),
        "affine squares": agreement(powers[test], squares[test], "affine"),
        "published": max(whole),
    }


def panel(layers: int, seed: int) -> Iterator[tuple[str, Callable[[], Scores]]]:
    """Both methods and the linear codes in the world of Khemakhem et al."""
    world = DrawnWorld(layers=layers, data_seed=seed)
    data = SingleData(world, batch_size=256)
    encoder, decoder = partial(MLPEncoder, hidden=(50, 50)), partial(MLPDecoder, hidden=(50, 50))
    adam = partial(torch.optim.Adam, lr=1e-3)

    def fitted(name: str) -> Scores:
        pl.seed_everything(seed, verbose=False)
        data.prepare_data()
        test = data.indices("test")
        settings = (data.image_shape, data.factor_names, data.factor_sizes, 5, encoder)
        model: Any = IVAE(*settings, decoder, optimizer=adam)
        scored: Callable[..., Scores] = ivae_scores
        if not name.startswith("IVAE"):
            statistic = "absolute" if name == "TCL" else "square"
            model = TCL(*settings, statistic=statistic, optimizer=adam)
            scored = tcl_scores
        scores = {f"untrained {key}": value for key, value in scored(model, world, test).items()}
        train(model, data, STEPS[name])
        return scored(model, world, test) | scores

    def squared() -> Scores:
        squares = world.latents**2
        codes = ica(world.content.vectors)
        return {"PCA": agreement(PCA().fit_transform(world.content.vectors) ** 2, squares)} | {
            "FastICA": agreement(codes**2, squares)
        }

    yield "linear", lambda: linear(world.latents, world.content.vectors)
    yield "linear squares", squared
    for name in ("IVAE", "TCL", "TCL square", "IVAE long"):
        yield name, partial(fitted, name)


class SmoothEncoder(Encoder):
    """The encoder of Klindt et al. (2026), App. H.2: three layers of 256 units with GELU."""

    def __init__(self, image_shape: ImageShape, outputs: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Flatten()]
        for features in (image_shape[0], 256, 256):
            layers += [nn.Linear(features, 256), nn.GELU()]
        self.network = nn.Sequential(*layers, nn.Linear(256, outputs))

    def forward(self, image: Tensor) -> Tensor:
        """Codes of vectors."""
        codes: Tensor = self.network(image)
        return codes


def pairs(
    model_class: Any,
    world: DrawnWorld,
    data: StepData,
    encoder: Any,
    steps: int,
    rate: float,
    **settings: Any,
) -> Scores:
    """Scores of a method of pairs, before and after training, on points drawn anew."""
    data.prepare_data()
    adam = partial(torch.optim.Adam, lr=rate)
    model = model_class(data.image_shape, world.sources, encoder, optimizer=adam, **settings)
    test = data.indices("test")
    sources, vectors = world.latents[test], world.content.vectors[test]

    def scored(codes: Array) -> Scores:
        return {
            "MCC": agreement(codes, sources),
            "affine": agreement(codes, sources, "affine"),
        }

    before = {f"untrained {key}": value for key, value in scored(encode(model, vectors)).items()}
    train(model, data, steps)
    scores = scored(encode(model, vectors)) | before
    scores |= {f"PCA {key}": each for key, each in scored(PCA().fit_transform(vectors)).items()}
    scores |= {f"FastICA {key}": each for key, each in scored(ica(vectors)).items()}
    unmixed = world.mixture.unmix(vectors.astype(np.float64))
    scores |= {f"perfect {key}": each for key, each in scored(unmixed).items()}
    return scores | {"chance MCC": chance(sources, sources)}


def inversion(steps: str, exponent: float, seed: int) -> Scores:
    """Contrastive inversion of 5 uniform sources, three layers."""
    pl.seed_everything(seed, verbose=False)
    world = DrawnWorld(5, 1, 20_000, "uniform", layers=3, data_seed=seed)
    shape = {"shape": WORLDS[steps]} if steps == "generalised_normal" else {}
    data = StepData(world, steps, 0.25, **shape, batch_size=256, test=0.2)
    trained = STEPS["ContrastiveInversion"]
    settings = {"steps": trained, "rate": 1e-4, "exponent": exponent}
    encoder = partial(MLPEncoder, hidden=(64, 128, 64))
    return pairs(ContrastiveInversion, world, data, encoder, **settings)


def normals(shape: float, steps: int, seed: int) -> Scores:
    """LeJEPA on generalised normal sources, four of them, three layers."""
    pl.seed_everything(seed, verbose=False)
    world = DrawnWorld(4, 1, 20_000, "generalised_normal", shape, layers=3, data_seed=seed)
    data = StepData(world, "gaussian", 0.316, batch_size=256, test=0.2)
    encoder = partial(MLPEncoder, hidden=(64, 64))
    return pairs(LeJEPA, world, data, encoder, steps, 3e-3, directions=64)


class HalfThenCosine(torch.optim.lr_scheduler.LambdaLR):
    """The learning rate of Klindt et al. (2026): constant for a half, then a cosine to 0."""

    def __init__(self, optimizer: torch.optim.Optimizer, steps: int) -> None:
        super().__init__(
            optimizer, lambda step: 0.5 + 0.5 * np.cos(np.pi * max(0.0, 2 * step / steps - 1))
        )


def spiral(shape: float, seed: int) -> Scores:
    """LeJEPA on two generalised normal sources turned by π‖z‖, as in Klindt et al. (2026)."""
    pl.seed_everything(seed, verbose=False)
    settings = {"mixing": "spiral", "turn": np.pi, "data_seed": seed}
    world = DrawnWorld(2, 1, 100_000, "generalised_normal", shape, **settings)
    data = StepData(world, "autoregressive", persistence=0.95, batch_size=256, test=0.1)
    schedule = partial(HalfThenCosine, steps=CURVE[-1])
    return pairs(
        LeJEPA, world, data, SmoothEncoder, CURVE[-1], 3e-3, directions=64, scheduler=schedule
    )


def runs(part: str) -> Iterator[tuple[str, Callable[[], Scores]]]:
    """Names and makers of the runs of a part, all cells of a seed before the next seed."""
    for seed in SEEDS[part]:
        if part == "panels":
            for layers in LAYERS:
                for name, made in panel(layers, seed):
                    yield f"{layers} layers, {name}, {seed}", made
        elif part == "inversion":
            for steps in WORLDS:
                for exponent in (1.0, 2.0, 3.0):
                    yield (
                        f"{steps}, {exponent:g}, {seed}",
                        partial(inversion, steps, exponent, seed),
                    )
        elif part == "spiral":
            for shape in SPIRAL_SHAPES:
                yield f"{shape:g}, {seed}", partial(spiral, shape, seed)
        else:
            for trained in CURVE if seed == 0 else CURVE[:-1]:
                for shape in SHAPES:
                    name = f"{shape:g}, {trained}, {seed}"
                    yield name, partial(normals, shape, trained, seed)


def kept() -> dict[str, Any]:
    """What the results file has."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"runs": {}}


def save(record: dict[str, Any]) -> None:
    """Replaces the results file."""
    with atomic(RESULTS) as temporary:
        temporary.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")


def _cell(runs: dict[str, Any], prefix: str, *keys: str) -> list[str]:
    """Mean of each score over the seeds, with the lowest and highest."""
    values = [
        [run["scores"][key] for name, run in runs.items() if name.rpartition(", ")[0] == prefix]
        for key in keys
    ]
    return [_mean_with_range(each) if each else "" for each in values]


def _mean_with_range(values: list[float]) -> str:
    """The mean, and the lowest and highest value where they differ in two digits."""
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return f"{np.mean(values):.2f}" + (f" ({low} to {high})" if low != high else "")


def _panels(record: dict[str, Any]) -> dict[str, Any]:
    """Both layers: each encoder by the published and by the honest protocol."""
    rows = []
    for layers in LAYERS:
        for name, title, honest in (
            ("IVAE", "`IVAE`, 6,000 steps", "honest"),
            ("IVAE long", "`IVAE`, 70,000 steps", "honest"),
            ("TCL", "`TCL`, absolute, 20,000 steps", "sizes ICA"),
            ("TCL square", "`TCL`, square, 20,000 steps", "squares ICA"),
        ):
            if f"{layers} layers, {name}, 0" not in record:
                continue
            of_paper = PUBLISHED[layers, name.split()[0]]
            cells = _cell(record, f"{layers} layers, {name}", "published", honest)
            untrained = _cell(record, f"{layers} layers, {name}", f"untrained {honest}")
            rows.append([str(layers), title, f"{of_paper:.2f}", *cells, *untrained])
        for name in ("PCA", "FastICA"):
            of_sources = _cell(record, f"{layers} layers, linear", name)
            squares = _cell(record, f"{layers} layers, linear squares", name)
            rows.append([str(layers), f"{name}: sources", "", "", *of_sources, ""])
            rows.append([str(layers), f"{name}: squared sources", "", "", *squares, ""])
        for name, title in (("perfect", "perfect unmixing"), ("chance", "chance")):
            cells = _cell(record, f"{layers} layers, linear", name)
            rows.append([str(layers), title, "", "", *cells, ""])
    heads = ["layers", "encoder", "published", "here, published protocol"]
    return {"header": [*heads, "here, honest protocol", "the same, untrained"], "rows": rows}


def _tcl(record: dict[str, Any]) -> dict[str, Any]:
    """What the score of TCL is, by what is compared with what."""
    compared = {
        "signed": "codes with sources",
        "signed ICA": "codes after ICA with sources",
        "sizes": "absolute codes with squared sources",
        "sizes ICA": "absolute codes after ICA with squared sources",
        "squares ICA": "squared codes after ICA with squared sources",
        "affine squares": "R² of squared sources, affine map of squared codes",
    }
    names = [name for name in ("TCL", "TCL square") if f"2 layers, {name}, 0" in record]
    rows = [
        [title, *(_cell(record, f"2 layers, {name}", key)[0] for name in names)]
        for key, title in compared.items()
    ]
    heads = ["square" if name.endswith("square") else "absolute" for name in names]
    return {"header": ["what is compared", *heads], "rows": rows}


def _pairs(record: dict[str, Any], first: str, *keys: str) -> dict[str, Any]:
    """Scores of methods of pairs beside other codes of the same points."""
    seeds = Counter(name.rpartition(", ")[0] for name in record)
    rows = [
        [*map(_thousands, prefix.split(", ")), str(count), *_cell(record, prefix, *keys)]
        for prefix, count in sorted(seeds.items(), key=lambda item: _in_order(item[0]))
    ]
    return {"header": [*first.split(", "), "seeds", *keys], "rows": rows}


def _thousands(part: str) -> str:
    """A part of a name in words, with commas if it is a number."""
    return f"{int(part):,}" if part.isdigit() else part.replace("_", " ")


def _in_order(name: str) -> list[tuple[float, str]]:
    """A key that sorts numbers by size."""
    parts = name.split(", ")
    return [(float(part), "") if part[0].isdigit() else (0.0, part) for part in parts]


def tables(runs: dict[str, Any]) -> dict[str, Any]:
    """The tables of the page."""
    made = {"panels": _panels(runs["panels"]), "tcl": _tcl(runs["panels"])}
    scores = (
        "MCC",
        "affine",
        "untrained MCC",
        "PCA MCC",
        "FastICA MCC",
        "perfect MCC",
        "chance MCC",
    )
    if "inversion" in runs:
        made["inversion"] = _pairs(runs["inversion"], "steps, exponent of the loss", *scores)
    affine = ("affine", "untrained affine", "PCA affine", "FastICA affine", "perfect affine")
    if "spiral" in runs:
        table = _pairs(runs["spiral"], "exponent of the sources", *affine)
        table["header"].insert(2, "published")
        for row in table["rows"]:
            row.insert(2, SPIRAL_PUBLISHED if row[0] == "2" else "lower")
        made["spiral"] = table
    if "normals" in runs:
        made["normals"] = _pairs(runs["normals"], "exponent of the sources, steps", *affine)
    return made


def main() -> None:
    """Trains what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", default=list(SEEDS), choices=list(SEEDS))
    parser.add_argument("--table", action="store_true", help="train nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for part in arguments.parts if not arguments.table else []:
        for name, made in runs(part):
            record = kept()
            if name in record["runs"].setdefault(part, {}):
                continue
            start = time.process_time()
            scores = made()
            seconds = round(time.process_time() - start)
            hardware = f"{processor()}, one thread"
            record["runs"][part][name] = {
                "scores": scores,
                "seconds": seconds,
                "hardware": hardware,
            }
            record["versions"] = versions()
            save(record)
            print(part, name, seconds, {k: round(v, 3) for k, v in scores.items()}, flush=True)
    record = kept()
    save(record | {"tables": tables(record["runs"])})


if __name__ == "__main__":
    main()
