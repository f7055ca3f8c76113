"""β-VAE score and the FactorVAE score of codes that need no training.

python benchmarks/higgins_accuracy.py [--study studies/locatello_rooms]     some minutes

The table of Higgins et al. (2017) on the rooms and on dSprites: true factors, all of them but one,
grey pixels, principal and independent components, untrained encoders; and the trained models of a
study of the rooms. Writes benchmarks/results/higgins_accuracy.json.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import numpy.typing as npt
import torch
from sklearn.decomposition import PCA, FastICA
from sklearn.exceptions import ConvergenceWarning
from torch.nn.functional import adaptive_avg_pool2d

from dislab.datamodules import SingleData
from dislab.datasets import DSprites, Shapes3D
from dislab.encoders import MLPEncoder
from dislab.metrics import BetaVAEScore, FactorVAEScore, evaluate
from dislab.storage import atomic
from dislab.study import Study
from standard_codes import provenance
from study_curves import BETA, FACTOR, TITLES

Array = npt.NDArray[np.float64]
RESULT = Path(__file__).parent / "results" / "higgins_accuracy.json"
IMAGES = 5000
DRAWS = 3
"""Samples of images, and untrained encoders."""
SIDE = 32
METRICS = (
    partial(BetaVAEScore, points_train=5000, points_test=2500),
    partial(FactorVAEScore, votes_train=5000, votes_test=2500),
)


class World(NamedTuple):
    """Images of a data set, and the number of latents of its models."""

    data: SingleData
    latents: int


def worlds() -> dict[str, World]:
    """Data sets by their title."""
    half = {"max": 0.5}
    include = {"floor_hue": half, "wall_hue": half, "object_hue": half, "shape": ["cube"]}
    return {
        "rooms": World(SingleData(Shapes3D(), include=include, resize=SIDE), 6),
        "dSprites": World(SingleData(DSprites(), resize=SIDE), 10),
    }


def codes_of(world: World, seed: int) -> Iterator[tuple[str, Array, Array]]:
    """Each kind of codes of a sample of images, by its name, with their factors."""
    data, space = world.data, world.data.factors
    states = np.random.default_rng(seed).choice(data.indices("train"), IMAGES)
    positions = space.positions(states)
    varied = np.ptp(positions, axis=0) > 0
    factors = positions[:, varied].astype(float)
    names = [name for name, varies in zip(space.names, varied, strict=True) if varies]
    image = data.images(torch.from_numpy(states))
    rows = image.flatten(1).double().numpy()
    yield "true factors", factors, factors
    for column, name in enumerate(names):
        yield f"true factors but {name}", np.delete(factors, column, axis=1), factors
    grey = adaptive_avg_pool2d(image.mean(1, keepdim=True), (8, 8)).flatten(1)
    yield "grey pixels, 8×8", grey.double().numpy(), factors
    components = PCA(world.latents, whiten=True, random_state=seed).fit_transform(rows)
    yield "PCA", components, factors
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        independent = FastICA(whiten="unit-variance", random_state=seed, max_iter=1000)
        yield "ICA", independent.fit_transform(components), factors
    torch.manual_seed(seed)
    encoder = MLPEncoder(data.image_shape, world.latents, (256, 128), "kaiming")
    with torch.no_grad():
        yield "untrained encoder", encoder(image).double().numpy(), factors


def trained(folder: Path) -> list[list[str]]:
    """Rows of the methods of a study: mean and deviation over runs of all strengths."""
    table = Study(folder).table()
    table = table[table["state"] == "finished"]
    rows = []
    for method, runs in table.groupby("method", sort=False):
        cells = [_mean(runs[name].to_numpy(), len(runs)) for name in (BETA, FACTOR)]
        rows.append(["rooms", f"{TITLES[str(method)]}, {len(runs)} models", *cells])
    return rows


def _mean(values: Array, count: int) -> str:
    return f"{values.mean():.2f}" + (f" ± {values.std(ddof=1):.2f}" if count > 1 else "")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--study", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    start = time.process_time()
    rows = []
    chance = []
    for title, world in worlds().items():
        world.data.prepare_data()
        world.data.setup("fit")
        scores: dict[str, list[tuple[float, float]]] = {}
        for seed in range(DRAWS):
            for name, codes, factors in codes_of(world, seed):
                values = evaluate(codes, factors, METRICS)
                pair = (values["beta_vae_score"], values["factor_vae_score"])
                scores.setdefault(name, []).append(pair)
            print(title, seed, {name: pairs[-1] for name, pairs in scores.items()}, flush=True)
        chance.append([title, "chance (a guess)", *[f"{1 / factors.shape[1]:.2f}"] * 2])
        for name, pairs in scores.items():
            cells = [_mean(np.array(column), DRAWS) for column in zip(*pairs, strict=True)]
            rows.append([title, name, *cells])
    if options.study is not None:
        place = max(index for index, row in enumerate(rows) if row[0] == "rooms") + 1
        rows[place:place] = trained(options.study)
    heads = ["data", "codes", "β-VAE score", "FactorVAE score"]
    known = " --study studies/locatello_rooms" if options.study else ""
    result = {
        "command": f"python benchmarks/higgins_accuracy.py{known}",
        "tables": {"accuracy": {"header": heads, "rows": rows + chance}},
        "cpu_seconds": round(time.process_time() - start),
        **provenance(),
    }
    with atomic(RESULT) as temporary:
        text = json.dumps(result, indent=1, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
