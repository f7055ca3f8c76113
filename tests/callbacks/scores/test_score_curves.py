"""Scores during training, as a user of the command gets them."""

import csv
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from dislab.callbacks import ScoreCurves
from dislab.cli import main
from dislab.errors import InputError
from dislab.runs import load_run

SMALL = {
    "name": "small",
    "seed_everything": 3,
    "report": False,
    "pictures": False,
    "then_test": False,
    "model": {
        "class_path": "VAE",
        "init_args": {
            "latent_dim": 3,
            "encoder": {"class_path": "MLPEncoder", "init_args": {"hidden": [8]}},
            "decoder": {"class_path": "MLPDecoder", "init_args": {"hidden": [8]}},
            "regularizers": {"kl": {"class_path": "KL"}},
        },
    },
    "data": {
        "class_path": "SingleData",
        "init_args": {"dataset": "GaussianBlob", "batch_size": 8, "validation": 0.1, "resize": 16},
    },
    "trainer": {
        "max_steps": 8,
        "accelerator": "cpu",
        "devices": 1,
        "log_every_n_steps": 2,
        "val_check_interval": 3,
        "check_val_every_n_epoch": None,
    },
    "score_curves": {"steps": 4, "points": 200},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(SMALL))
    return tmp_path


def fit(*args: str) -> int:
    return main(["fit", "--config=small.yaml", *args])


def curve(run: str) -> dict[int, float]:
    with Path(run, "metrics.csv").open(newline="") as file:
        return {
            int(row["step"]): float(row["curves/mig"])
            for row in csv.DictReader(file)
            if row.get("curves/mig")
        }


def same_weights(one: str, other: str) -> bool:
    states: list[dict[str, Any]] = [load_run(run).state_dict() for run in (one, other)]
    return all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.slow
def test_a_curve_moves_no_stream_of_training_and_goes_on_to_the_bit() -> None:
    assert fit() == 0
    assert fit("--name=without", "--score_curves.steps=0") == 0
    assert fit("--name=parts", "--trainer.max_steps=6") == 0
    assert main(["fit", "--resume=runs/parts/version_0", "--trainer.max_steps=8"]) == 0
    whole, without, parts = (f"runs/{name}/version_0" for name in ("small", "without", "parts"))
    assert sorted(curve(whole)) == [0, 3, 7]  # before training, and after 4 and 8 steps
    assert len(set(curve(whole).values())) > 1
    assert curve(without) == {}
    assert curve(parts) == curve(whole)
    assert same_weights(whole, without)
    assert same_weights(whole, parts)


@pytest.mark.slow
def test_lightning_without_a_part_in_every_step_scores_at_the_same_steps() -> None:
    assert fit() == 0
    inner = ["--inner_steps.steps=100", "--trainer.log_every_n_steps=5"]
    assert fit("--name=inner", *inner) == 0
    assert curve("runs/inner/version_0") == curve("runs/small/version_0")


@pytest.mark.slow
def test_checkpoints_and_early_stopping_follow_a_curve() -> None:
    stop = {"monitor": "curves/mig", "mode": "max", "stopping_threshold": -1.0}
    callbacks = {"trainer": {"callbacks": [{"class_path": "EarlyStopping", "init_args": stop}]}}
    Path("stop.yaml").write_text(yaml.safe_dump(callbacks))
    best = ["--checkpoint.monitor=curves/mig", "--checkpoint.mode=max"]
    best += ["--checkpoint.save_top_k=1", "--checkpoint.every_n_train_steps=4"]
    assert fit("--name=best", *best, "--checkpoint.filename=best") == 0
    stored = torch.load("runs/best/version_0/checkpoints/best.ckpt", weights_only=True)
    values = curve("runs/best/version_0")
    assert stored["global_step"] == (4 if values[3] >= values[7] else 8)
    assert fit("--name=stops", "--config=stop.yaml") == 0
    assert int(load_run("runs/stops/version_0").steps) == 3  # the first validation


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--checkpoint.monitor=curves/mgi"], "did you mean curves/mig?"),
        (["--score_curves.steps=-1"], "score_curves.steps is -1"),
    ],
)
def test_mistakes_are_one_message(
    args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = fit(*args)
    except SystemExit as ended:
        status = int(ended.code or 0)
    assert status == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("settings", [{"steps": -1}, {"points": 0}, {"batch_size": 0}])
def test_impossible_numbers_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(settings))):
        ScoreCurves(**settings)
