"""Wrong scores, data and parts are refused before training."""

import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from lightning.pytorch import Trainer
from PIL import Image
from tests.small_runs import small_config

from dislab.cli import main
from dislab.runs import read_scores

UNLABELLED = "{class_path: FolderDataset, init_args: {folder: pictures, table: null}}"
ONE_FACTOR = "{class_path: FolderDataset, init_args: {folder: pictures}}"

Dislab = Callable[..., tuple[int, str, str]]


@pytest.fixture
def dislab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Dislab:
    """Runs a command in a folder with 40 pictures; returns status, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISLAB_CACHE", str(tmp_path / "cache"))
    (tmp_path / "pictures").mkdir()
    rows = ["file,shade"]
    for index in range(40):
        shade = index % 4
        pixels = np.full((8, 8), 60 * shade, dtype=np.uint8)
        pixels[index // 8, index % 8] = 255
        Image.fromarray(pixels).save(tmp_path / f"pictures/{index}.png")
        rows.append(f"{index}.png,{shade}")
    (tmp_path / "table.csv").write_text("\n".join(rows))

    def run(dataset: str, *args: str, latents: int = 3) -> tuple[int, str, str]:
        if dataset == ONE_FACTOR:
            (tmp_path / "table.csv").rename(tmp_path / "pictures/factors.csv")
        changes = f"""
            model: {{init_args: {{latent_dim: {latents}}}}}
            data: {{init_args: {{dataset: {dataset}, validation: 0.1, test: 0.2}}}}
            trainer: {{max_steps: 2}}
            evaluate: null
        """
        settings = yaml.safe_load(small_config("blob", changes))
        del settings["evaluate"]  # the default scores
        (tmp_path / "small.yaml").write_text(yaml.safe_dump(settings))
        try:
            status = main(["fit", "--config=small.yaml", *args])
        except SystemExit as ended:
            status = int(ended.code or 0)
        captured = capfd.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.mark.slow
def test_images_without_factors_train_and_are_drawn_and_not_scored(
    dislab: Dislab, tmp_path: Path
) -> None:
    status, out, err = dislab(UNLABELLED, "--pictures=true")
    assert status == 0, err
    said = "MIG, DCI, FactorVAE score are left out: a score compares codes with factors, and"
    assert (out + err).count(said) == 1
    run = tmp_path / "runs/small/version_0"
    record = read_scores(run)["test"]
    assert {name.rpartition("_")[0] for name in record["scores"]} == {
        f"{what}_{code}" for what in ("elbo", "reconstruction") for code in ("sample", "mean")
    } | {"kl", "explained_variance"}
    assert set(record["skipped"]) == {"mig", "dci", "factor_vae"}
    assert record["losses"]["test/loss"] > 0
    pictures = {path.name for path in (run / "images").iterdir()}
    assert {"reconstructions.png", "samples.png", "traversals.png"} <= pictures


@pytest.mark.slow
def test_training_images_that_all_lack_values_have_no_likelihoods(
    dislab: Dislab, tmp_path: Path
) -> None:
    cells = [f"{number}.png,{number if number < 8 else ''}" for number in range(40)]
    (tmp_path / "table.csv").write_text("\n".join(["file,shade", *cells]))
    dataset = UNLABELLED.replace("table: null", "table: ../table.csv, gaps: keep")
    status, out, err = dislab(dataset, "--data.validation=0.5", "--data.test=0.49")
    assert status == 0, err
    assert (out + err).count("DCI is left out") == 1
    scores = read_scores(tmp_path / "runs/small/version_0")["test"]["scores"]
    assert {"kl_test", "kl_validation"} <= {*scores}
    assert "kl_train" not in scores


@pytest.mark.slow
def test_a_default_score_that_cannot_be_taken_is_skipped(dislab: Dislab, tmp_path: Path) -> None:
    status, out, err = dislab(UNLABELLED.replace("table: null", "table: ../table.csv"), latents=1)
    assert status == 0, err
    assert (out + err).count("DCI is left out: the score compares") == 1
    assert "was not taken" not in out + err
    assert ", so few that scores are rough, by MIG …" in out + err
    record = json.loads((tmp_path / "runs/small/version_0/scores.json").read_text())["test"]
    assert list(record["skipped"]) == ["dci", "factor_vae"]
    assert "mig" in record["scores"]
    assert "factor_vae_score" not in record["scores"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dataset", "metrics", "message"),
    [
        (UNLABELLED, "{mig: MIG}", "mig cannot be taken: a score compares codes with factors, and"),
        (
            ONE_FACTOR,
            "{some: {class_path: DownstreamAccuracy, init_args: {labels: [30], tested: 20}}}",
            "some cannot be taken: DownstreamAccuracy learns from 30 images and is tested on 20 "
            "others, but got 40; encode more, or lower labels or tested",
        ),
    ],
)
def test_a_score_that_was_asked_for_and_cannot_be_taken_is_said_before_training(
    dataset: str, metrics: str, message: str, dislab: Dislab, tmp_path: Path
) -> None:
    status, _, err = dislab(dataset, f"--evaluate.metrics={metrics}")
    assert status == 2
    lines = [line for line in err.splitlines() if line.startswith("dislab: error: ")]
    assert len(lines) == 1
    assert message in lines[0]
    assert "Traceback" not in err
    assert not list(tmp_path.rglob("*.ckpt"))


@pytest.mark.slow
@pytest.mark.filterwarnings("default::dislab.factors.ContinuousFactorWarning")
def test_measured_columns_are_said_to_be_so_and_scored_by_their_numbers(
    dislab: Dislab, tmp_path: Path
) -> None:
    points = np.random.default_rng(0).random((40, 2))
    rows = [f"{number}.png,{x},{y}" for number, (x, y) in enumerate(points.tolist())]
    (tmp_path / "table.csv").write_text("\n".join(["file,x,y", *rows]))
    status, out, err = dislab(
        ONE_FACTOR, "--data.hold_out={x: {min: 0.7}}", "--evaluate.split=train"
    )
    assert status == 0, err
    said = "dislab: warning: x, y are continuous: they have 40 different numbers in 40 images"
    assert (out + err).count(said) == 1
    record = read_scores(tmp_path / "runs/small/version_0")["test"]
    assert record["sample"]["continuous"] == ["x", "y"]
    assert record["draw"]["available"] <= (points[:, 0] < 0.7).sum()
    assert set(record["metrics"]) == {"mig", "dci", "factor_vae"}
    assert record["skipped"] == {}
    assert 0 <= record["scores"]["mig"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    [
        "--reconstructions.count=0",
        "--traversals.steps=1",
        "--samples.rows=0",
        "--interpolations.pairs=0",
        "--score_curves.points=0",
        "--transfer.tested=0",
        "--generalisation.examples=-1",
    ],
)
def test_settings_of_callbacks_that_are_off_are_checked(
    dislab: Dislab, tmp_path: Path, wrong: str
) -> None:
    status, _, err = dislab("GaussianBlob", "--pictures=false", wrong)
    setting, _, value = wrong.removeprefix("--").partition("=")
    assert status == 2
    assert setting.partition(".")[2] in err
    assert value in err
    assert not (tmp_path / "runs/small").exists()


@pytest.mark.slow
def test_callbacks_that_are_off_are_not_built(
    dislab: Dislab, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: set[str] = set()
    started = Trainer.fit

    @wraps(started)
    def fit(trainer: Trainer, *args: Any, **options: Any) -> None:
        built.update(type(callback).__name__ for callback in trainer.callbacks)  # type: ignore[attr-defined]
        started(trainer, *args, **options)

    monkeypatch.setattr(Trainer, "fit", fit)
    pictures = {"Reconstructions", "Traversals", "Samples", "Interpolations"}
    off = {"ScoreCurves", "TransferScores", "Representations"}
    short = [
        "--then_test=false",
        "--traversals.steps=9",
        "--evaluate.metrics={}",
        "--evaluate.sheet=false",
    ]
    assert dislab("GaussianBlob", *short, "--pictures=end")[0] == 0
    assert built >= pictures
    assert not built & off
    built.clear()
    assert dislab("GaussianBlob", *short, "--pictures=false")[0] == 0
    assert "Evaluate" in built
    assert not built & (pictures | off)
    assert dislab("GaussianBlob", *short, "--score_curves.steps=1")[0] == 0
    assert "ScoreCurves" in built
