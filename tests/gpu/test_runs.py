"""Whole runs on the device: repeated, resumed, scored and drawn."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from tests.gpu.place import DEVICE, trainer

from dislab.callbacks import (
    Evaluate,
    InnerSteps,
    Interpolations,
    Reconstructions,
    Samples,
    Traversals,
)
from dislab.datamodules import SingleData
from dislab.datasets import GaussianBlob
from dislab.decoders import ConvDecoder64
from dislab.encoders import ConvEncoder64
from dislab.metrics import MIG
from dislab.objectives import VAE
from dislab.regularizers import KL, TotalCorrelation

PRECISIONS = ["32-true", pytest.param("bf16-mixed", id="half_precision")]


def vae(seed: int = 0) -> VAE:
    torch.manual_seed(seed)
    return VAE(
        (1, 64, 64),
        900,
        3,
        partial(ConvEncoder64, preset="burgess"),
        partial(ConvDecoder64, preset="burgess"),
        {
            "kl": partial(KL, warmup_steps=30),
            "tc": partial(TotalCorrelation, width=4, depth=1, lr=2.0**-13),
        },
        optimizer=partial(torch.optim.Adam, lr=2.0**-10),  # single precision holds both rates
        scheduler=partial(torch.optim.lr_scheduler.StepLR, step_size=7, gamma=0.5),
    )


def blobs(**settings: Any) -> SingleData:
    given: dict[str, Any] = {"batch_size": 4, "steps_per_epoch": 9, "eval_batch_size": 16}
    return SingleData(GaussianBlob(8), **{**given, "validation": 0.3, "test": 0.3, **settings})


def fitted(
    folder: Path,
    *callbacks: pl.Callback,
    device: torch.device = DEVICE,
    residency: str = "device",
    resume: Path | None = None,
    seed: int = 0,
    **settings: Any,
) -> dict[str, Any]:
    """The last checkpoint of a run of 20 steps with clipped gradients."""
    torch.manual_seed(5)
    given: dict[str, Any] = {
        "max_steps": 20,
        "log_every_n_steps": 6,
        "val_check_interval": 8,
        "check_val_every_n_epoch": None,
        "gradient_clip_val": 5.0,
        "logger": CSVLogger(folder, name="", version=""),
        "enable_checkpointing": True,
    }
    kept = ModelCheckpoint(folder, every_n_train_steps=11, save_top_k=-1, filename="{step}")
    runner = trainer(device, folder, **{**given, **settings}, callbacks=[*callbacks, kept])
    data = blobs(residency=residency)
    runner.fit(vae(seed), datamodule=data, ckpt_path=resume, weights_only=True)
    end = folder / "end.ckpt"
    runner.save_checkpoint(end)
    found: dict[str, Any] = torch.load(end, weights_only=True, map_location="cpu")
    return found


def check_alike(one: dict[str, Any], other: dict[str, Any]) -> None:
    """To the bit."""
    for part in ("state_dict", "optimizer_states", "lr_schedulers", "global_step", "epoch"):
        torch.testing.assert_close(one[part], other[part], rtol=0, atol=0, msg=part)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("residency", ["device", "host"])
def test_a_run_can_be_repeated(precision: str, residency: str, tmp_path: Path) -> None:
    """Wherever its images are gathered."""
    one = fitted(tmp_path / "one", precision=precision)
    other = fitted(tmp_path / "other", precision=precision, residency=residency)
    check_alike(one, other)


@pytest.mark.filterwarnings("ignore:The dirpath has changed from")
def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    whole = fitted(tmp_path / "whole")
    fitted(tmp_path / "part", max_steps=15)
    kept = tmp_path / "part" / "step=11.ckpt"
    check_alike(whole, fitted(tmp_path / "rest", resume=kept))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("inner", [4, 1000])
def test_inner_steps_change_nothing(inner: int, precision: str, tmp_path: Path) -> None:
    plain = fitted(tmp_path / "plain", precision=precision)
    check_alike(plain, fitted(tmp_path / "quick", InnerSteps(inner), precision=precision))


def test_scores_and_pictures(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "run"
    callbacks = [
        Evaluate({"mig": MIG}, untrained=1, bootstrap=2),
        Reconstructions(2),
        Samples(2, 2),
        Interpolations(2, 3),
        Traversals(1, 3),
    ]
    logger = CSVLogger(folder, name="", version="")
    runner = trainer(DEVICE, folder, callbacks=callbacks, logger=logger, log_every_n_steps=2)
    model, data = vae(), blobs()
    runner.fit(model, datamodule=data)
    runner.test(model, datamodule=data)
    assert "mig" in json.dumps(json.loads((folder / "scores.json").read_text()))
    drawn = {path.stem for path in (folder / "images").glob("*.png")}
    assert drawn >= {"reconstructions", "samples", "interpolations", "traversals"}
