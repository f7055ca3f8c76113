"""`--checkpoint` of every command that reads the model of a run, and the end of `fit`."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-untyped]
    EventAccumulator,
)
from tests.cli.test_checks import CONFIG

from dislab.cli import main
from dislab.runs import load_run, open_run, read_checkpoint
from dislab.runs.curves import read_curves

STOPPED = """
model: {init_args: {optimizer: {class_path: torch.optim.Adam, init_args: {lr: 0.3}}}}
trainer:
  max_steps: 100
  val_check_interval: 4
  callbacks: [{class_path: EarlyStopping, init_args: {monitor: validation/loss, patience: 2}}]
checkpoint: {monitor: validation/loss, save_top_k: 1, every_n_train_steps: 4, filename: chosen}
pictures: false
evaluate: {metrics: {mig: {class_path: MIG}}, points: 100}
"""
RUN = Path("runs/small/version_0")
BEST, LAST = (str(RUN / "checkpoints" / name) for name in ("chosen.ckpt", "last.ckpt"))

Dislab = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a run that stopped early, and the last lines of `fit`."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "small.yaml").write_text(CONFIG)
    (folder / "stopped.yaml").write_text(STOPPED)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        lines: list[str] = []
        patch.setattr("builtins.print", lambda *words, **_: lines.append(" ".join(map(str, words))))
        assert main(["fit", "--config=small.yaml", "--config=stopped.yaml"]) == 0
    return folder, lines[-1]


@pytest.fixture
def dislab(
    trained: tuple[Path, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Dislab:
    """Runs a command beside a copy of the run; returns status, output and errors."""
    shutil.copytree(trained[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)

    def run(*args: str) -> tuple[int, str, str]:
        try:
            status = main(args)
        except SystemExit as ended:
            status = int(ended.code or 0)
        return status, *capfd.readouterr()

    return run


def scored() -> tuple[str, int]:
    source = json.loads((RUN / "scores.json").read_text())["test"]["checkpoint"]
    return source["path"], source["steps"]


def test_the_end_of_training_names_the_reason_and_scores_the_best_checkpoint(
    trained: tuple[Path, str], dislab: Dislab
) -> None:
    best, last = (read_checkpoint(one)["global_step"] for one in (BEST, LAST))
    assert 0 < best < last < 100
    text = trained[1]
    assert f"ended     step {last}: EarlyStopping: Monitored metric validation/loss did not" in text
    assert f"best      {BEST} (validation/loss " in text
    assert scored() == (BEST, best)
    rows = read_curves(RUN / "metrics.csv").rows
    assert [row["step"] for row in rows if "test/loss" in row] == [str(best)]
    assert [row["step"] for row in rows if "scores/mig" in row] == [str(best)]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["test", "validate"])
@pytest.mark.parametrize("choice", ["best", "last"])
def test_losses_are_logged_at_the_step_of_the_checkpoint(
    command: str, choice: str, dislab: Dislab
) -> None:
    for path in RUN.glob("events.*"):
        path.unlink()
    assert dislab(command, f"--run={RUN}", f"--checkpoint={choice}")[0] == 0
    events = EventAccumulator(str(RUN)).Reload()
    loss = "test/loss" if command == "test" else "validation/loss"
    step = read_checkpoint({"best": BEST, "last": LAST}[choice])["global_step"]
    assert [event.step for event in events.Scalars(loss)] == [step]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("choice", "path"),
    [(None, BEST), ("best", BEST), ("last", LAST), ("chosen.ckpt", BEST), (LAST, LAST)],
)
def test_every_command_reads_the_same_checkpoint(
    choice: str | None, path: str, dislab: Dislab
) -> None:
    option = [] if choice is None else [f"--checkpoint={choice}"]
    line = f"Checkpoint: {path}, the best by validation/loss ("
    model = load_run(path)

    def said(*args: str) -> None:
        status, _, errors = dislab(*args, *option)
        assert status == 0, errors
        assert (line in errors) == (choice is None)

    said("test", f"--run={RUN}")
    assert scored() == (path, int(model.steps))
    said("predict", f"--run={RUN}")
    with np.load(RUN / "representations.npz") as stored:
        assert str(stored["checkpoint"]) == Path(path).name
    if choice is not None:
        said("score", str(RUN), "--metrics", "MIG")
    said("encode", str(RUN), "--images=50")
    with np.load(RUN / "codes.npz") as stored:
        opened = open_run(RUN) if choice is None else open_run(path, open_run(RUN).data)
        images = opened.data.images(torch.as_tensor(stored["states"][:20]))
        expected = model.codes(images).detach().numpy()
        np.testing.assert_allclose(stored["codes"][:20], expected, atol=1e-5)
    said("report", str(RUN))
    said("export", str(RUN), "--to", "safetensors", "--out", "exported")
    weights = load_file("exported/model.safetensors")
    for name, value in model.state_dict().items():
        assert (weights[name] == value).all(), name


@pytest.mark.every(4)
@pytest.mark.parametrize(
    "command",
    [
        ["test", "--run"],
        ["validate", "--run"],
        ["predict", "--run"],
        ["encode"],
        ["report"],
        ["transfer"],
        ["export", "--to", "safetensors", "--out", "new"],
    ],
)
@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (
            "bst",
            "--checkpoint bst is no file (did you mean best?); the run has chosen.ckpt",
        ),
        ("other/version_0/checkpoints/last.ckpt", "belongs to another run"),
    ],
)
def test_what_is_no_checkpoint_of_the_run_is_refused(
    command: list[str], choice: str, message: str, dislab: Dislab
) -> None:
    shutil.copytree("runs/small", "other")
    before = (RUN / "scores.json").read_bytes()
    status, _, errors = dislab(*command, str(RUN), "--checkpoint", choice)
    assert (status, message in errors, "Traceback" in errors) == (2, True, False), errors
    assert (RUN / "scores.json").read_bytes() == before
    assert not Path("new").exists()


@pytest.mark.slow
def test_without_a_monitor_the_last_checkpoint_is_read_and_best_is_refused(dislab: Dislab) -> None:
    assert dislab("fit", "--config=small.yaml", "--name=plain", "--pictures=false")[0] == 0
    run = "runs/plain/version_0"
    status, _, errors = dislab("encode", run, "--checkpoint=best")
    assert status == 2
    assert "plain/version_0 has no best checkpoint, as no monitor chose one" in errors
    status, _, errors = dislab("encode", run)
    assert (status, "Checkpoint:" in errors) == (0, False)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Checkpoint directory")
def test_training_goes_on_from_the_last_checkpoint(
    dislab: Dislab, caplog: pytest.LogCaptureFixture
) -> None:
    last = read_checkpoint(LAST)["global_step"]
    more = f"--trainer.max_steps={last + 2}"
    status, output, _ = dislab("fit", f"--resume={RUN}", more, "--then_test=false")
    assert status == 0
    # Lightning's handler may have another stream
    assert re.search(rf"steps +{last} to {last + 2}", caplog.text)
    assert f"ended     step {last + 2}: trainer.max_steps is reached" in output


@pytest.mark.every(6)
@pytest.mark.parametrize("choice", ["best", "last", "kept.ckpt"])
@pytest.mark.parametrize("joined", [True, False])
@pytest.mark.parametrize(
    ("args", "remedy"),
    [
        (["fit", f"--resume={RUN}"], "goes on from the last one, so leave it out"),
        (["fit", "--config=small.yaml"], "goes on from the last one, so leave it out"),
        (["test", "--config=small.yaml"], "name the run too, by --run RUN"),
    ],
)
def test_a_choice_of_a_checkpoint_is_refused_without_a_finished_run(
    args: list[str], remedy: str, joined: bool, choice: str, dislab: Dislab
) -> None:
    option = [f"--checkpoint={choice}"] if joined else ["--checkpoint", choice]
    status, _, errors = dislab(*args, *option)
    assert status == 2
    assert errors.startswith(f"dislab: error: --checkpoint {choice} chooses a checkpoint of a fin")
    assert remedy in errors
    assert errors.count("\n") == 1
