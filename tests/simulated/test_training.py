"""Whole runs on the device: validation, scores, pictures, checkpoints, resuming."""

import csv
import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from lightning.pytorch.loggers import CSVLogger
from tests.gpu.place import trainer
from tests.gpu.test_runs import blobs, check_alike, fitted, vae
from tests.simulated.device import DEVICE, waits

from dislab.base import DataModule, Objective
from dislab.callbacks import (
    ConceptScores,
    Evaluate,
    Generalisation,
    InnerSteps,
    Interpolations,
    Reconstructions,
    Representations,
    Samples,
    TransferScores,
    Traversals,
)
from dislab.datamodules import SymbolData
from dislab.datasets import GaussianBlob
from dislab.decoders import MLPDecoder
from dislab.encoders import MLPEncoder
from dislab.metrics import MIG
from dislab.objectives import JMVAE, GroundTruthDecoder, InfoGAN
from dislab.predictors import MLP, Ridge

HOST = torch.device("cpu")
PLACES = (HOST, DEVICE)
NETWORKS = partial(MLPEncoder, hidden=(8,)), partial(MLPDecoder, hidden=(8,))
SHAPE = (1, 64, 64)


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_run_is_that_of_the_host(tmp_path: Path) -> None:
    host, device = (fitted(tmp_path / place.type, device=place) for place in PLACES)
    check_alike(host, device)
    assert len(rows(tmp_path / "cpu")) > 3
    for one, other in zip(*(rows(tmp_path / place.type) for place in PLACES), strict=True):
        assert {name: value and float(value) for name, value in one.items()} == pytest.approx(
            {name: value and float(value) for name, value in other.items()}
        )


@pytest.mark.filterwarnings("ignore:The dirpath has changed from")
@pytest.mark.parametrize("places", [(DEVICE, DEVICE), (DEVICE, HOST), (HOST, DEVICE)])
def test_a_run_goes_on_where_it_stopped(places: Any, tmp_path: Path) -> None:
    """On the same device, or on another one: a checkpoint belongs to none."""
    whole = fitted(tmp_path / "whole", device=HOST)
    fitted(tmp_path / "part", device=places[0], max_steps=15)
    kept = tmp_path / "part" / "step=11.ckpt"
    check_alike(whole, fitted(tmp_path / "rest", device=places[1], resume=kept))


class Noted(pl.Callback):
    """Notes the calls that made the host wait from the first step to the last."""

    def on_train_start(self, *_: Any) -> None:
        waits.clear()

    def on_train_end(self, *_: Any) -> None:
        self.waits = Counter(waits)


@pytest.mark.parametrize("inner", [1, 6])
def test_the_host_waits_for_a_row_of_the_log_alone(inner: int, tmp_path: Path) -> None:
    noted = Noted()
    runner = trainer(
        DEVICE,
        tmp_path,
        callbacks=[noted, InnerSteps(inner)],
        logger=CSVLogger(tmp_path, name="", version=""),
        log_every_n_steps=5,
        max_steps=12,
        limit_val_batches=0,
    )
    runner.fit(vae(), datamodule=blobs(residency="device"))
    assert noted.waits == {
        "dislab.base.objective.on_train_start": 1,  # the seed, once
        "dislab.base._batches._check_pixels": 2,  # the smallest and the largest pixel, once
        "dislab.base._batches.has_values": 1,  # whether there are pixels to check, once
        "dislab.plans.gathering.<dictcomp>": 1,  # the one table of the images, once
        "dislab.plans.loaders.moved": 24,  # states and positions; CUDA's copies are later
        "dislab.base._optimizing.look": 2,  # one a row of the log
        "lightning.fabric.utilities.apply_func.to_item": 16,  # eight values a row of the log
    }


def published(
    device: torch.device, folder: Path, model: Objective, data: DataModule, *callbacks: pl.Callback
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Scores and pictures of a run of three steps, validated and tested."""
    runner = trainer(
        device,
        folder,
        callbacks=list(callbacks),
        logger=CSVLogger(folder, name="", version=""),
        log_every_n_steps=2,
        limit_val_batches=1,
        limit_test_batches=1,
    )
    torch.manual_seed(5)
    runner.fit(model, datamodule=data)
    runner.test(model, datamodule=data)
    record = folder / "scores.json"
    found = json.loads(record.read_text()) if record.exists() else {}
    scores = {command: one.get("scores", one) for command, one in found.items()}
    return scores, {path.name: path.read_bytes() for path in (folder / "images").glob("*.png")}


def check_published(build: Callable[[], tuple[Any, ...]], folder: Path) -> None:
    """A run on the device publishes the same as one on the host."""
    runs = []
    for place in PLACES:
        torch.manual_seed(0)
        runs.append(published(place, folder / place.type / "runs" / "run", *build()))
    (scores, pictures), (others, drawn) = runs
    assert scores or pictures
    assert flat(scores) == pytest.approx(flat(others), nan_ok=True)
    assert pictures == drawn


def flat(value: Any) -> list[Any]:
    """The numbers in a record, in its order."""
    if isinstance(value, dict):
        return [number for one in value.values() for number in flat(one)]
    if isinstance(value, list):
        return [number for one in value for number in flat(one)]
    return [value] if isinstance(value, int | float) else []


def test_scores_and_pictures(tmp_path: Path) -> None:
    scenario = tmp_path / "near.yaml"
    scenario.write_text("train: {posX: {max: 0.4}}\ntest: {posX: {min: 0.4, max: 0.7}}\n")
    predictors: dict[str, Any] = {"ridge": Ridge, "mlp": partial(MLP, layers=1, width=4, steps=5)}

    def build() -> tuple[Any, ...]:
        return (
            vae(),
            blobs(hold_out={"posX": {"min": 0.8}}, test=0.0),
            Evaluate({"mig": MIG}, untrained=1, bootstrap=2),
            Reconstructions(2),
            Samples(2, 2),
            Interpolations(2, 3),
            Traversals(1, 3),
            Generalisation(examples=20),
            TransferScores([str(scenario)], predictors, labels=20, tested=10),
        )

    check_published(build, tmp_path)


def test_scores_of_concepts(tmp_path: Path) -> None:
    def build() -> tuple[Any, ...]:
        data = SymbolData(
            GaussianBlob(8),
            batch_size=4,
            steps_per_epoch=9,
            eval_batch_size=16,
            validation=0.3,
            test=0.3,
            attributes={
                "posX": {"left": {"max": 0.5}, "right": {"min": 0.5}},
                "posY": {"up": {"max": 0.5}, "down": {"min": 0.5}},
            },
        )
        model = JMVAE(SHAPE, data.symbol_names, 3, *NETWORKS, (7,))
        return model, data, ConceptScores(concepts=3, images=5, references=20)

    check_published(build, tmp_path)


def test_pictures_of_true_factors(tmp_path: Path) -> None:
    def build() -> tuple[Any, ...]:
        data = blobs()
        model = GroundTruthDecoder(SHAPE, data.factor_names, data.factor_sizes, NETWORKS[1])
        return model, data, Reconstructions(2), Traversals(1, 3)

    check_published(build, tmp_path)


def test_pictures_of_a_game(tmp_path: Path) -> None:
    def build() -> tuple[Any, ...]:
        networks = partial(MLPDecoder, hidden=(8,)), partial(MLPEncoder, hidden=(8,))
        return InfoGAN(SHAPE, *networks), blobs(), Samples(2, 2), Traversals(1, 3)

    check_published(build, tmp_path)


def test_codes_in_files(tmp_path: Path) -> None:
    written = []
    for place in PLACES:
        folder = tmp_path / place.type
        logger = CSVLogger(folder, name="", version="")
        runner = trainer(place, folder, callbacks=[Representations()], logger=logger)
        runner.predict(vae(), datamodule=blobs(), return_predictions=False)
        [path] = folder.rglob("*.npz")
        with np.load(path) as stored:
            written.append(dict(stored))
    host, device = written
    assert len(host["codes"]) > 9
    assert host.keys() == device.keys()
    for name, values in host.items():
        assert np.array_equal(values, device[name]), name
