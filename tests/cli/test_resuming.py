"""Real processes that are interrupted or killed, and continue to the bit."""

import csv
import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.processes import Started, start
from tests.small_runs import small_config

from dislab.cli import main

CONFIG = small_config(
    "dsprites",
    """
    name: long
    seed_everything: 5
    model: {init_args: {regularizers: {
      kl: {init_args: {warmup_steps: 300}},
      tc: {class_path: TotalCorrelation, init_args: {width: 8, depth: 1}}}}}
    trainer: {max_steps: 500, log_every_n_steps: 10}
    checkpoint: {every_n_train_steps: 30}
    """,
)


def finish(process: Started, status: int = 0) -> str:
    output, _ = process.communicate()
    assert process.returncode == status, output
    return output


def wait_for(path: Path) -> None:
    limit = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < limit, f"{path} never appeared"
        time.sleep(0.01)


def outcome(run: Path) -> dict[str, Any]:
    """All that must be equal: weights, optimiser, counters, losses, scores, every logged row."""
    stored = torch.load(run / "checkpoints/last.ckpt", weights_only=True)
    record = json.loads((run / "scores.json").read_text())["test"]
    with (run / "metrics.csv").open(newline="") as file:
        curves = list(csv.DictReader(file))
    return {
        "weights": stored["state_dict"],
        "optimiser": stored["optimizer_states"][0]["state"],
        "step": stored["global_step"],
        "scores": record["scores"],
        "losses": record["losses"],
        "curves": curves,
    }


def assert_equal(one: Any, other: Any, place: str = "") -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys(), place
        for key in one:
            assert_equal(one[key], other[key], f"{place}/{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), place
        for index, value in enumerate(one):
            assert_equal(value, other[index], f"{place}/{index}")
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, other), place
    else:
        assert one == other, place


@pytest.mark.slow
def test_interrupted_runs_equal_an_uninterrupted_one_to_the_bit(tmp_path: Path) -> None:
    """With inner steps and without; the campaign of kills has those without them."""
    (tmp_path / "long.yaml").write_text(CONFIG)
    finish(start(tmp_path, "fit", "--config=long.yaml", "--name=whole"))
    uninterrupted = outcome(tmp_path / "runs/whole/version_0")
    assert uninterrupted["step"] == 500
    assert sum(bool(row["train/loss"]) for row in uninterrupted["curves"]) == 50

    inner = "--inner_steps.steps=1000"
    for order, status, delay, settings in (
        (signal.SIGINT, 130, 0.05, []),
        (signal.SIGTERM, 130, 0.0, [inner]),
        (signal.SIGKILL, -signal.SIGKILL, 0.0, [inner]),
    ):
        name = order.name
        run = tmp_path / "runs" / name / "version_0"
        process = start(tmp_path, "fit", "--config=long.yaml", f"--name={name}", *settings)
        wait_for(run / "checkpoints/last.ckpt")
        time.sleep(delay)
        process.send_signal(order)
        output = finish(process, status)
        if order != signal.SIGKILL:
            assert f"dislab fit --resume runs/{name}/version_0" in output
        assert not (run / "scores.json").exists()
        reached = torch.load(run / "checkpoints/last.ckpt", weights_only=True)["global_step"]
        assert 0 < reached < 500
        finish(start(tmp_path, "fit", f"--resume={run}"))
        assert_equal(uninterrupted, outcome(run), name)
        assert [path.name for path in (run / "checkpoints").iterdir()] == ["last.ckpt"]
        assert [path.name for path in run.parent.iterdir()] == ["version_0"]


GAME = """
  class_path: InfoWGANGP
  init_args:
    noise_dim: 2
    categorical: [3]
    continuous: 2
    critic_steps: 4
    generator: {class_path: MLPDecoder, init_args: {hidden: [16]}}
    critic: {class_path: MLPEncoder, init_args: {hidden: [16]}}
"""


@pytest.mark.slow
def test_an_interrupted_game_equals_an_uninterrupted_one_to_the_bit(tmp_path: Path) -> None:
    """The generator must go on waiting for the step that is its turn."""
    before, rest = CONFIG.split("model:")
    _, after = rest.split("data:")
    config = f"{before}model:{GAME}data:{after}".replace(
        "every_n_train_steps: 30", "every_n_train_steps: 31"
    )
    (tmp_path / "game.yaml").write_text(config)
    finish(start(tmp_path, "fit", "--config=game.yaml", "--name=whole"))
    run = tmp_path / "runs/halved/version_0"
    process = start(tmp_path, "fit", "--config=game.yaml", "--name=halved")
    wait_for(run / "checkpoints/last.ckpt")
    process.send_signal(signal.SIGKILL)
    finish(process, -signal.SIGKILL)
    reached = torch.load(run / "checkpoints/last.ckpt", weights_only=True)["global_step"]
    assert 0 < reached < 500
    finish(start(tmp_path, "fit", f"--resume={run}"))
    assert_equal(outcome(tmp_path / "runs/whole/version_0"), outcome(run))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["fit", "--resume=empty"], "empty is no run: it has no config.yaml"),
        (["fit", "--resume=halted"], "halted holds no checkpoint"),
        (["fit", "--config=long.yaml", "--ckpt_path=last"], "go on with a run by --resume"),
        (["fit", "--config=long.yaml", "--run=nowhere"], "nowhere is no run"),
    ],
)
def test_nothing_starts_afresh_by_mistake(
    args: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "long.yaml").write_text(CONFIG)
    (tmp_path / "empty").mkdir()
    (tmp_path / "halted").mkdir()
    (tmp_path / "halted/config.yaml").write_text(CONFIG)
    assert main(args) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


SMALL = small_config(
    "blob",
    """
    pictures: false
    then_test: false
    data: {init_args: {steps_per_epoch: 4}}
    trainer: {max_steps: 18, log_every_n_steps: 1}
    checkpoint: {every_n_train_steps: 2}
    """,
)
AVERAGES = """
trainer:
  callbacks:
  - class_path: StochasticWeightAveraging
    init_args: {swa_lrs: 0.001, swa_epoch_start: 1, annealing_epochs: 3}
"""
KINDS = {
    "weights of epochs are averaged": AVERAGES,
    "no validation ends an epoch": "trainer: {limit_val_batches: 0}",
    "gradients are accumulated": "trainer: {accumulate_grad_batches: 2}",
}


def state(run: Path) -> dict[str, Any]:
    """All of a checkpoint but the state of callbacks, which has paths, and the logged rows."""
    stored = torch.load(run / "checkpoints/last.ckpt", weights_only=True)
    del stored["callbacks"]
    return {**stored, "rows": (run / "metrics.csv").read_text()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_runs_of_all_kinds_resume_within_and_between_epochs(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SMALL)
    Path("kind.yaml").write_text(KINDS[kind])
    fit = ["fit", "--config=small.yaml", "--config=kind.yaml"]
    assert main([*fit, "--name=whole"]) == 0
    run = Path("runs/cut/version_0")
    assert main([*fit, "--name=cut", "--trainer.max_steps=8"]) == 0
    assert "Unable to serialize" not in (run / "config.yaml").read_text()
    for steps in (11, 18):  # from the end of an epoch; from the middle of one
        assert main(["fit", f"--resume={run}", f"--trainer.max_steps={steps}"]) == 0
    assert_equal(state(Path("runs/whole/version_0")), state(run))


@pytest.mark.slow
def test_a_finished_run_keeps_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SMALL)
    assert main(["fit", "--config=small.yaml", "--name=run", "--trainer.max_steps=7"]) == 0
    path = Path("runs/run/version_0/checkpoints/last.ckpt")
    before = path.read_bytes()
    assert main(["fit", f"--resume={path.parents[1]}"]) == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("command", [["fit", "--resume=run"], ["test", "--run=run"]])
def test_a_missing_plugin_is_named_with_its_package(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run/checkpoints").mkdir(parents=True)
    stored = {"global_step": 5, "pytorch-lightning_version": "2.6.0", "state_dict": {}}
    torch.save(stored, "run/checkpoints/last.ckpt")
    Path("run/config.yaml").write_text(SMALL.replace(": VAE", ": none_such.VAE"))
    assert main(command) == 2
    assert "no package none_such is installed here; install the plugin" in capsys.readouterr().err


def test_a_callback_for_backbones_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SMALL)
    assert main(["fit", "--config=small.yaml", "--trainer.callbacks=BackboneFinetuning"]) == 2
    assert "no method of dislab has one" in capsys.readouterr().err
    assert not Path("runs").exists()
