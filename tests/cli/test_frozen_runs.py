"""A run that starts from another run's model, as a user types it."""

import shutil
from pathlib import Path

import pytest

from dislab.cli import main
from dislab.runs import load_run

DATA = """
seed_everything: 3
report: false
pictures: false
data:
  class_path: SingleData
  init_args:
    dataset: DSprites
    batch_size: 8
    include: {scale: [0.5, 1.0], orientation: {max: 1.0}, posX: {max: 0.2}, posY: {max: 0.2}}
    validation: 0.05
    test: 0.1
trainer: {max_steps: 4, log_every_n_steps: 1, accelerator: cpu}
evaluate: {metrics: {mig: {class_path: MIG}}, points: 50, sheet: false}
model:
  init_args:
    encoder: {class_path: MLPEncoder, init_args: {hidden: [16]}}
    decoder: {class_path: MLPDecoder, init_args: {hidden: [16]}}
"""
FIRST = """
name: first
model: {class_path: DenoisingAutoencoder, init_args: {bottleneck: 5}}
"""
SECOND = """
name: second
model: {class_path: BetaVAEDAE, init_args: {latent_dim: 3, dae: runs/first/version_0}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("data", DATA), ("first", FIRST), ("second", SECOND)):
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def command(name: str, *args: str) -> list[str]:
    return ["fit", f"--config={name}.yaml", "--config=data.yaml", *args]


@pytest.mark.slow
def test_the_second_run_outlives_the_first(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(command("first")) == 0
    assert main(command("second")) == 0
    shutil.rmtree(folder / "runs" / "first")
    run = "runs/second/version_0"
    assert main(["validate", "--run", run]) == 0
    assert main(["fit", "--resume", run, "--trainer.max_steps=6"]) == 0
    assert int(load_run(run).steps) == 6
    for name in ("config_until_step_4.yaml", "config.yaml"):
        assert f"dae: {folder}/runs/first/version_0" in Path(run, name).read_text()
    # a new run from this file needs the weights of the first one, which are gone
    assert main(["fit", "--config", f"{run}/config.yaml"]) == 2
    assert f"the dae run cannot be used: {folder}/runs/first/version_0" in capfd.readouterr().err


def test_a_missing_run_is_one_message(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(command("second")) == 2
    message = capfd.readouterr().err
    assert (
        "the dae run cannot be used: runs/first/version_0 is no run: it does not exist" in message
    )
    assert "Traceback" not in message
