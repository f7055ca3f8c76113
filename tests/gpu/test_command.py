"""The command on a card, in every precision that it takes."""

import csv
import json
import math
from pathlib import Path

import pytest
import torch

from dislab.cli import main

SMALL = """
name: small
seed_everything: 3
model:
  class_path: VAE
  init_args:
    latent_dim: 3
    encoder: {class_path: ConvEncoder64, init_args: {preset: burgess}}
    decoder: {class_path: ConvDecoder64, init_args: {preset: burgess}}
    regularizers:
      kl: {class_path: KL}
      tc: {class_path: TotalCorrelation, init_args: {width: 8, depth: 1}}
data:
  class_path: SingleData
  init_args:
    dataset: DSprites
    include: {scale: [0.5, 1.0], orientation: {max: 1.0}, posX: {max: 0.2}, posY: {max: 0.2}}
    batch_size: 32
    validation: 0.05
    test: 0.1
trainer:
  max_steps: 60
  val_check_interval: 30
  check_val_every_n_epoch: null
  log_every_n_steps: 10
  accelerator: gpu
  devices: 1
evaluate:
  metrics: {mig: {class_path: MIG}}
  points: 300
  untrained: 2
traversals: {images: 1, steps: 3, points: 50}
"""


def losses(run: Path) -> list[float]:
    """The training losses in the log of a run."""
    with (run / "metrics.csv").open(newline="") as file:
        return [float(row["train/loss"]) for row in csv.DictReader(file) if row.get("train/loss")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, that holds small.yaml."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(SMALL)
    return tmp_path


@pytest.mark.parametrize("precision", ["bf16-mixed", "16-mixed"])
def test_half_precision_trains_as_float32(precision: str, folder: Path) -> None:
    for number, one in enumerate(("32-true", precision)):
        assert main(["fit", "--config=small.yaml", f"--trainer.precision={one}"]) == 0
        run = folder / "runs" / "small" / f"version_{number}"
        scores = json.loads((run / "scores.json").read_text())
        assert scores
        assert (run / "images" / "traversals.png").is_file()
        assert main(["test", f"--run={run}"]) == 0
    full, half = (losses(folder / "runs" / "small" / f"version_{one}") for one in (0, 1))
    assert len(full) == len(half) == 6
    assert all(map(math.isfinite, half))
    assert full[-1] < 0.9 * full[0]
    if precision == "bf16-mixed":
        assert half == pytest.approx(full, rel=0.02)
    else:  # the scaler skips some of the first steps, and all others come that much later
        assert half[:4] == pytest.approx(full[:4], rel=0.05)
        assert half[-1] < 0.97 * half[0]


def test_a_run_of_a_card_is_scored_on_the_host(folder: Path) -> None:
    assert main(["fit", "--config=small.yaml", "--trainer.max_steps=10"]) == 0
    run = folder / "runs" / "small" / "version_0"
    stored = torch.load(
        run / "checkpoints" / "last.ckpt", weights_only=True, map_location=torch.device("cpu")
    )
    assert stored["global_step"] == 10
    assert main(["test", f"--run={run}", "--trainer.accelerator=cpu"]) == 0
