from functools import partial
from pathlib import Path

import lightning.pytorch as pl
import pytest
import torch
from tests.callbacks.line import Line
from torch.utils.data import DataLoader

from dislab.callbacks import Progress, progress


def trained(folder: Path, steps: int, checkpoint: Path | None) -> Path:
    """The checkpoint of a training by so many steps."""
    trainer = pl.Trainer(
        max_steps=steps,
        accelerator="cpu",
        devices=1,
        callbacks=[Progress("nothing")],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    batches: DataLoader[torch.Tensor] = DataLoader([torch.ones(1)])  # type: ignore[arg-type]
    trainer.fit(Line(), batches, ckpt_path=checkpoint)
    path = folder / f"{steps}.ckpt"
    trainer.save_checkpoint(path)
    return path


def test_a_checkpoint_has_date_versions_hardware_and_seconds_with_those_before_a_resume(
    tmp_path: Path,
) -> None:
    first = trained(tmp_path, 2, None)
    stored = torch.load(first, weights_only=True)
    state = stored["callbacks"]["Progress"]
    assert state.keys() == {"date", "seconds", "hardware", "versions", "other_regularizers"}
    assert state["versions"]["torch"] == torch.__version__
    assert 0 <= state["seconds"] < 600
    assert state["date"].endswith(" UTC")
    state["seconds"] = 1000.0
    torch.save(stored, first)
    again = torch.load(trained(tmp_path, 3, first), weights_only=True)
    assert 1000 <= again["callbacks"]["Progress"]["seconds"] < 1600


@pytest.mark.slow
def test_a_long_run_says_early_how_long_it_takes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = partial(
        pl.Trainer,
        max_steps=400,
        accelerator="cpu",
        devices=1,
        logger=False,
        log_every_n_steps=1,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    batches: DataLoader[torch.Tensor] = DataLoader([torch.ones(1)])  # type: ignore[arg-type]
    firsts = []
    for early in (-1.0, 1e9):
        monkeypatch.setattr(progress, "_EARLY", early)
        caplog.clear()
        with caplog.at_level("INFO", "lightning.pytorch.utilities.rank_zero"):
            trainer(callbacks=[Progress("lines")]).fit(Line(), batches)
        lines = [line for line in caplog.messages if line.startswith("step ")]
        assert all(line.endswith(" left") for line in lines)
        firsts.append([line.partition(" of ")[0] for line in lines[:3]])
    assert firsts == [["step 1", "step 5", "step 9"], ["step 4", "step 8", "step 12"]]


@pytest.mark.parametrize(
    ("method", "line"),
    [
        ("", "Training Line"),
        ("Line", "Training Line"),
        ("Line with L1", "Training Line"),
        ("Straight", "Training Straight: Line"),
    ],
)
def test_training_begins_with_the_method_said_once(
    method: str, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    shown = Progress("lines")
    shown.method = method
    trainer = pl.Trainer(
        max_steps=1,
        accelerator="cpu",
        devices=1,
        callbacks=[shown],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    batches: DataLoader[torch.Tensor] = DataLoader([torch.ones(1)])  # type: ignore[arg-type]
    with caplog.at_level("INFO", "lightning.pytorch.utilities.rank_zero"):
        trainer.fit(Line(), batches)
    assert line in [message.partition("\n")[0] for message in caplog.messages]
