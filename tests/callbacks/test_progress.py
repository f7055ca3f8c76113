from pathlib import Path

import lightning.pytorch as pl
import torch
from tests.callbacks.line import Line
from torch.utils.data import DataLoader

from dislab.callbacks import Progress


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


def test_a_checkpoint_has_date_seconds_with_those_before_a_resume_and_hardware(
    tmp_path: Path,
) -> None:
    first = trained(tmp_path, 2, None)
    stored = torch.load(first, weights_only=True)
    state = stored["callbacks"]["Progress"]
    assert state.keys() == {"date", "seconds", "hardware"}
    assert 0 <= state["seconds"] < 600
    assert state["date"].endswith(" UTC")
    state["seconds"] = 1000.0
    torch.save(stored, first)
    again = torch.load(trained(tmp_path, 3, first), weights_only=True)
    assert 1000 <= again["callbacks"]["Progress"]["seconds"] < 1600
