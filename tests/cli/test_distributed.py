"""Several real processes train what one does."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.processes import free_ports, start_several

from dislab.callbacks.pictures._picture import Picture
from dislab.cli import main

CONFIG = """
name: {name}
seed_everything: 5
report: false
model: {model}
data:
  class_path: {data}
  init_args:
    groups: {groups}
    dataset: DSprites
    batch_size: 8
    include: {{orientation: {{max: 0.5}}, posX: {{max: 0.2}}, posY: {{max: 0.2}}}}
    validation: 0.05
    test: 0.1
trainer:
  max_steps: 12
  log_every_n_steps: 4
  accelerator: cpu
  devices: {processes}
  strategy: {strategy}
evaluate: {{metrics: {{mig: {{class_path: MIG}}}}, points: 300}}
traversals: {{images: 1, steps: 3, points: 50}}
"""

REGULARIZERS = {
    "factorvae": "{kl: {class_path: KL}, tc: {class_path: TotalCorrelation, "
    "init_args: {width: 8, depth: 1, lr: 1.0e-2}}}",
    "factorvae_two": "{kl: {class_path: KL}, tc: {class_path: TotalCorrelation, "
    "init_args: {width: 8, depth: 1, lr: 1.0e-2, batches: two}}}",
    "betatcvae": "{kl: {class_path: DecomposedKL}}",
    "dipvae2": "{kl: {class_path: KL}, dip: {class_path: DIP, init_args: {kind: II}}}",
    "annealedvae": "{kl: {class_path: CapacityKL, init_args: {steps: 10}}}",
}


VARIATIONAL = (
    "latent_dim: 3, encoder: {class_path: MLPEncoder, init_args: {hidden: [16]}}, "
    "decoder: {class_path: MLPDecoder, init_args: {hidden: [16]}}"
)
PENALIZED = f"{VARIATIONAL}, regularizers: {REGULARIZERS['factorvae']}"
GAME = (
    "noise_dim: 2, categorical: [3], continuous: 2, "
    "generator: {class_path: MLPDecoder, init_args: {hidden: [16]}}, "
    "critic: {class_path: MLPEncoder, init_args: {hidden: [16]}}"
)
ADAM = "optimizer: {class_path: torch.optim.Adam, init_args: {lr: 1.0e-3, eps: 1.0e-3}}"
"""Adam divides a gradient by its own size. Where a gradient cancels to nothing but rounding (a bias
of the discriminator while its units are on one side of their kink) the default `eps` of 1e-8 makes
whole steps of that rounding, and nothing could be compared."""
METHODS = {
    name: ("VAE", "SingleData", f"{VARIATIONAL}, regularizers: {regularizers}")
    for name, regularizers in REGULARIZERS.items()
} | {
    "adagvae": ("AdaGVAE", "PairedData", PENALIZED),
    "dcign": (
        "DCIGN",
        "ClampedData",
        PENALIZED.replace("latent_dim: 3", "latents: {place: 2, rest: 2}, strength: 0.5"),
    ),
    "infogan": ("InfoGAN", "SingleData", GAME),
    "infowgangp": ("InfoWGANGP", "SingleData", f"{GAME}, critic_steps: 3"),
    "composition": ("CompositionVAE", "CompositionData", VARIATIONAL),
    "jmvae": ("JMVAE", "SymbolData", VARIATIONAL),
    "telbo": ("TELBO", "SymbolData", VARIATIONAL),
    "scan": ("SCAN", "SymbolData", "vision: VISION, hidden: [16]"),
}
"""Class, data module and settings by name."""


def configured(folder: Path, method: str, processes: int) -> list[str]:
    """The arguments that train a method; its configuration is written into the folder."""
    name = f"{method}_{processes}"
    folder.mkdir(exist_ok=True)
    config = folder / f"{name}.yaml"
    strategy = "ddp" if processes > 1 else "auto"
    objective, data, init_args = METHODS[method]
    settings = {
        "name": name,
        "processes": processes,
        "strategy": strategy,
        "model": f"{{class_path: {objective}, init_args: {{{ADAM}, {init_args}}}}}".replace(
            "VISION", str(folder / "runs/dipvae2_1/version_0")
        ),
        "data": data,
        "groups": "{place: [posX, posY], rest: [shape, scale]}",
    }
    text = CONFIG.format(**settings)
    if method != "dcign":
        text = re.sub(r" *groups: .*\n", "", text)
    config.write_text(text)
    return ["fit", f"--config={config}"]


def started(folder: Path, *command: str, **environment: str) -> subprocess.Popen[str]:
    """Starts Python in a folder."""
    inherited = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env={**inherited, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def obey_all(ports: list[int], commands: list[list[str]]) -> int:
    """Runs commands one after another, without pictures; the status of the first that fails."""
    Picture._publish = lambda *given, **settings: None  # type: ignore[method-assign]
    for port, command in zip(ports, commands, strict=True):
        os.environ["MASTER_PORT"] = str(port)
        if status := main(command):
            return status
    return 0


def in_turn(folder: Path, processes: int, commands: list[list[str]]) -> None:
    """Runs commands in so many processes, each started as a cluster starts them."""
    ports = free_ports(len(commands))
    for process in start_several(folder, processes, obey_all, ports, commands):
        output, _ = process.communicate()
        assert process.returncode == 0, output


def weights(run: Path) -> dict[str, Any]:
    stored: dict[str, Any] = torch.load(run / "checkpoints/last.ckpt", weights_only=True)
    state: dict[str, Any] = stored["state_dict"]
    return state


def check_alike(one: Path, several: Path) -> None:
    """Weights and a score within rounding."""
    expected, reached = weights(one), weights(several)
    assert expected.keys() == reached.keys()
    for name in expected:
        message = f"{name} of {several}"
        torch.testing.assert_close(reached[name], expected[name], atol=1e-6, rtol=0, msg=message)
    scores = [json.loads((run / "scores.json").read_text())["test"] for run in (one, several)]
    assert scores[1]["scores"]["mig"] == pytest.approx(scores[0]["scores"]["mig"], abs=1e-6)


@pytest.mark.slow
def test_processes_train_what_one_does(tmp_path: Path) -> None:
    """Inner steps too, which change nothing in several processes."""
    inner = [*configured(tmp_path, "factorvae", 2), "--inner_steps.steps=100", "--name=inner"]
    in_turn(tmp_path, 1, [configured(tmp_path, method, 1) for method in METHODS])
    in_turn(tmp_path, 2, [*(configured(tmp_path, method, 2) for method in METHODS), inner])
    runs = tmp_path / "runs"
    for method in METHODS:
        one, several = (runs / f"{method}_{processes}" for processes in (1, 2))
        assert [run.name for run in several.iterdir()] == ["version_0"]
        check_alike(one / "version_0", several / "version_0")
    expected, reached = (weights(runs / name / "version_0") for name in ("factorvae_2", "inner"))
    for name in expected:
        assert torch.equal(reached[name], expected[name]), name


@pytest.mark.slow
def test_the_command_starts_its_processes_itself(tmp_path: Path) -> None:
    """Two, started by Lightning, and four, started as by a cluster, train what one does."""
    for processes in (1, 4):
        in_turn(tmp_path, processes, [configured(tmp_path, "factorvae", processes)])
    command = configured(tmp_path, "factorvae", 2)
    output, _ = (process := started(tmp_path, "-m", "dislab", *command)).communicate(timeout=300)
    assert process.returncode == 0, output
    [one], [two], [four] = ((tmp_path / f"runs/factorvae_{n}").iterdir() for n in (1, 2, 4))
    check_alike(one, two)
    check_alike(one, four)


MEASURED = [
    "--data.eval_batch_size=10",
    "--data.batch_size=12",
    "--data.hold_out={posX: {max: 0.05}, shape: heart}",
    "--trainer.val_check_interval=6",
    "--trainer.check_val_every_n_epoch=null",
]
"""Splits and batches that no number of processes divides, and validation during training."""


def measured(run: Path) -> dict[str, list[float]]:
    """Every loss of validation and test that a run has written."""
    records = json.loads((run / "scores.json").read_text())
    found = {
        f"{stage} {name}": [value]
        for stage in ("test", "validate")
        for name, value in records.get(stage, {}).get("losses", {}).items()
        if not name.startswith("train/")
    }
    for name, value in records["test_generalisation"]["losses"]["sample"]["test"].items():
        found[f"generalisation {name}"] = [value]
    with (run / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for name in rows[0]:
        if name.startswith("validation/"):
            found[name] = [float(row[name]) for row in rows if row[name]]
    return found


@pytest.mark.slow
def test_processes_measure_the_losses_that_one_does(tmp_path: Path) -> None:
    """Each image counts once, in the batch that it is in with one process.

    A finished run is scored alike too, also where a batch of training cannot be shared, and where
    batches are fewer than processes.
    """
    methods = ["factorvae_two", "betatcvae", "dipvae2", "adagvae", "dcign"]
    finished = "runs/finished/version_0"
    train = [*configured(tmp_path, "betatcvae", 1), "--name=finished", "--data.eval_batch_size=50"]
    seen: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for processes in (1, 2, 3):
        devices = [f"--trainer.devices={processes}", "--trainer.strategy=ddp"]
        fits = [[*configured(tmp_path, method, processes), *MEASURED] for method in methods]
        scored = [[stage, f"--run={finished}", *devices] for stage in ("test", "validate")]
        in_turn(tmp_path, processes, [*([train] if processes == 1 else []), *fits, *scored])
        records = json.loads((tmp_path / finished / "scores.json").read_text())
        runs = {one: tmp_path / "runs" / f"{one}_{processes}" / "version_0" for one in methods}
        seen.append(
            (
                {method: measured(run) for method, run in runs.items()},
                {stage: records[stage]["losses"] for stage in ("test", "validate")},
            )
        )
    (expected, losses), *others = seen
    for reached, several in others:
        for method, values in expected.items():
            assert len(values["validation/loss"]) == 2
            assert values["test test/loss"] != values["validation/loss"][1:]
            assert reached[method].keys() == values.keys()
            for name, value in values.items():
                found = pytest.approx(value, rel=1e-6, abs=1e-6)
                assert reached[method][name] == found, (method, name)
        for stage, values in losses.items():
            assert several[stage] == pytest.approx(values, rel=1e-6), stage


def children(pid: int) -> list[int]:
    """Processes that a process has started and that are still there."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds processes by /proc")
def test_a_process_that_dies_ends_the_others_with_a_message(tmp_path: Path) -> None:
    process = started(
        tmp_path,
        "-m",
        "dislab",
        *configured(tmp_path, "factorvae", 2),
        "--trainer.max_steps=1000000",
        "--checkpoint.every_n_train_steps=20",
    )
    last = tmp_path / "runs/factorvae_2/version_0/checkpoints/last.ckpt"
    limit = time.monotonic() + 120
    while not last.exists():
        assert process.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.1)
    os.kill(children(process.pid)[-1], signal.SIGKILL)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "process 0 of 2 stopped, because another one ended" in output
    assert "dislab fit --resume runs/factorvae_2/version_0" in output
    assert "Traceback" not in output
    assert torch.load(last, weights_only=True)["global_step"] >= 20
