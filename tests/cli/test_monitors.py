"""Monitored names that nothing logs are refused before the first step, whatever monitors them."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.test_checks import CONFIG

from dislab.cli import dispatch, main
from dislab.cli.monitors import check_monitors
from dislab.errors import InputError

Dislab = Callable[..., tuple[int, str]]

MONITORING = ("checkpoint", "EarlyStopping", "ModelCheckpoint")


@pytest.fixture
def dislab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Dislab:
    """Runs `dislab fit` with something that monitors a name; returns status and errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(CONFIG)

    def run(who: str, monitor: str, *args: str, **settings: Any) -> tuple[int, str]:
        chosen = {"monitor": monitor, **settings}
        asked: dict[str, Any] = {"checkpoint": chosen}
        if who != "checkpoint":
            asked = {"trainer": {"callbacks": [{"class_path": who, "init_args": chosen}]}}
        (tmp_path / "asked.yaml").write_text(yaml.safe_dump(asked))
        try:
            status = main(["fit", "--config=small.yaml", "--config=asked.yaml", *args])
        except SystemExit as ended:
            status = int(ended.code or 0)
        return status, capfd.readouterr().err

    return run


NOT_LOGGED: list[tuple[str, list[str], str]] = [
    ("val_loss", [], "(did you mean validation/loss?)"),
    ("validation/kl", [], "(did you mean validation/kl/kl?)"),
    ("validation/loss", ["--data.validation=0"], "the validation split is empty"),
    ("val/loss", [], "(did you mean validation/loss?)"),
    ("scores/mig", [], "such as curves/mig, with score_curves.steps"),
    ("curves/mig", [], "score_curves.steps is 0"),
    ("validation/loss", ["--trainer.limit_val_batches=0"], "trainer.limit_val_batches is 0"),
]
"""Names with options and messages: one for each of the three checks, and further ones."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("who", "monitor", "args", "message"),
    [
        *(("checkpoint", *case) for case in NOT_LOGGED),
        *(("EarlyStopping", *case) for case in NOT_LOGGED[:3]),
        *(("ModelCheckpoint", *case) for case in NOT_LOGGED[:3]),
    ],
)
def test_every_monitor_is_checked_before_the_first_step(
    who: str, monitor: str, args: list[str], message: str, dislab: Dislab
) -> None:
    status, errors = dislab(who, monitor, *args)
    assert status == 2
    last = errors.splitlines()[-1]
    assert last.startswith(f"dislab: error: {who}.monitor is '{monitor}'")
    assert message in last
    assert not list(Path(".").rglob("version_*"))


@pytest.mark.slow
@pytest.mark.parametrize("who", MONITORING)
def test_a_study_refuses_the_name_in_its_plan(who: str, dislab: Dislab) -> None:
    dislab(who, "val_loss")  # writes the files
    files = {"name": "one", "base": ["small.yaml", "asked.yaml"], "seeds": 2}
    Path("study.yaml").write_text(yaml.safe_dump(files))
    with pytest.raises(InputError, match=rf"{who}\.monitor is 'val_loss'"):
        dispatch("study", ["plan", "study.yaml"])


@pytest.mark.slow
@pytest.mark.parametrize("who", MONITORING)
@pytest.mark.parametrize("monitor", ["validation/kl/kl", "train/loss"])
def test_names_that_are_logged_train(who: str, monitor: str, dislab: Dislab) -> None:
    assert dislab(who, monitor, "--then_test=false")[0] == 0


@pytest.mark.slow
def test_a_name_that_may_be_missing_is_not_checked(dislab: Dislab) -> None:
    assert dislab("EarlyStopping", "val_loss", "--then_test=false", strict=False)[0] == 0


@pytest.mark.slow
def test_a_name_that_is_logged_too_late_is_one_message(dislab: Dislab) -> None:
    late = ["--trainer.log_every_n_steps=8", "--trainer.num_sanity_val_steps=0"]
    status, errors = dislab("EarlyStopping", "train/loss", *late)
    assert status == 2
    assert "Traceback" not in errors
    assert errors.splitlines()[-1].startswith("dislab: error: Early stopping conditioned on metric")


@pytest.mark.parametrize("other", ["mykit.LogsMine", "dislab.callbacks.Progress"])
def test_a_callback_of_another_distribution_may_log_any_name(other: str) -> None:
    stopping = {
        "class_path": "lightning.pytorch.callbacks.EarlyStopping",
        "init_args": {"monitor": "mine"},
    }
    config = {
        "model": {"class_path": "dislab.objectives.VAE"},
        "trainer": {"callbacks": [stopping, {"class_path": other}]},
        "checkpoint": {},
        "score_curves": {"steps": 0},
    }
    refused = pytest.raises(InputError, match=r"EarlyStopping\.monitor is 'mine'")
    with nullcontext() if other.startswith("mykit.") else refused:
        check_monitors(config)
