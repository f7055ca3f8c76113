"""`dislab fit --pack K`: run folders as if each run had been trained alone, and what is refused."""

import csv
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from dislab.cli import main
from dislab.training import packed

SMALL = """
name: small
seed_everything: 3
report: false
then_test: false
model:
  class_path: VAE
  init_args:
    latent_dim: 3
    encoder: {class_path: MLPEncoder, init_args: {hidden: [4]}}
    decoder: {class_path: MLPDecoder, init_args: {hidden: [4]}}
    regularizers:
      kl: {class_path: KL}
    scheduler:
      class_path: torch.optim.lr_scheduler.StepLR
      init_args: {step_size: 6}
data:
  class_path: SingleData
  init_args: {dataset: GaussianBlob, batch_size: 4}
trainer:
  max_steps: 20
  val_check_interval: 10
  check_val_every_n_epoch: null
  limit_val_batches: 1
  log_every_n_steps: 7
  accelerator: cpu
  devices: 1
  enable_model_summary: false
traversals: {images: 1, steps: 3, points: 50}
"""

GAME = """
model:
  class_path: InfoWGANGP
  init_args:
    generator: {class_path: MLPDecoder, init_args: {hidden: [4]}}
    critic: {class_path: MLPEncoder, init_args: {hidden: [4]}}
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def files(run: Path) -> set[str]:
    """The files of a run; those of TensorBoard and of pictures without time and step."""
    return {
        str(path.relative_to(run)).partition(".1")[0] for path in run.rglob("*") if path.is_file()
    }


def rows(run: Path) -> list[dict[str, float]]:
    with (run / "metrics.csv").open(newline="") as file:
        return [
            {name: float(cell) for name, cell in row.items() if cell}
            for row in csv.DictReader(file)
        ]


def weights(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = torch.load(run / "checkpoints/last.ckpt", weights_only=True)
    return found["state_dict"]  # type: ignore[no-any-return]


def test_folders_are_as_if_each_run_had_been_alone(
    config: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(packed, "_TRIALS", 2)  # so that the choice is made within these steps
    assert main(["fit", f"--config={config}", "--pack", "2"]) == 0
    said = capfd.readouterr()
    assert (said.out + said.err).count("pack: 2 runs ") == 1
    assert main(["fit", f"--config={config}", "--seed_everything=4", "--runs=alone"]) == 0
    first, mine = (Path("runs/small", f"version_{place}") for place in range(2))
    its = Path("alone/small/version_0")
    assert files(first) == files(mine) == files(its)
    settings, others = (yaml.safe_load((run / "config.yaml").read_text()) for run in (mine, its))
    assert settings == {**others, "runs": "runs"}
    torch.testing.assert_close(weights(mine), weights(its), atol=1e-5, rtol=1e-5)
    for one, other in zip(rows(mine), rows(its), strict=True):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-5)
    assert main(["fit", f"--resume={mine}", "--trainer.max_steps=25"]) == 0
    assert int(weights(mine)["steps"]) == 25


def test_a_divergence_names_the_seed_of_each_run(
    config: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    optimizer = ["--model.optimizer=torch.optim.SGD", "--model.optimizer.lr=1e30"]
    assert main(["fit", f"--config={config}", "--pack=2", *optimizer]) == 1
    said = capfd.readouterr()
    for seed in (3, 4):
        assert f"seed {seed}: training stopped" in said.out + said.err


REFUSED: dict[str, tuple[list[str], str]] = {
    "none": (["fit", "--pack", "0"], "--pack is '0'; it must be a whole number of runs from 1"),
    "a word": (["fit", "--pack=many"], "--pack is 'many'; it must be a whole number"),
    "no number": (["fit", "--pack"], "it must be a whole number"),
    "another command": (["test", "--pack", "2"], "dislab test takes no --pack"),
    "a resumed run": (["fit", "--pack", "2", "--resume", "x"], "--pack starts new runs"),
    "no seed": (["fit", "--pack", "2", "--seed_everything=false"], "a pack counts its seeds"),
    "in a file": (["fit", "--config=pack.yaml"], "pack is set in a configuration file"),
    "a game": (["fit", "--pack", "2", "--config=game.yaml"], "InfoWGANGP has its own"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_mistakes_are_refused_and_leave_nothing(
    name: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (command, *args), message = REFUSED[name]
    Path("pack.yaml").write_text("pack: 2\n")
    Path("game.yaml").write_text(SMALL.partition("model:")[0] + GAME + _after("data:"))
    given = [] if "game" in " ".join(args) else [f"--config={config}"]
    assert main([command, *given, *args]) == 2
    assert message in capsys.readouterr().err
    assert not list(Path().glob("runs/*/*"))


def _after(heading: str) -> str:
    return heading + SMALL.partition(heading)[2]
