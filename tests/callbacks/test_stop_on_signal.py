"""Stopping exactly at a step whose values are due in the log."""

import csv
import os
import signal
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from tests.callbacks.line import Line
from torch.utils.data import DataLoader

from dislab.callbacks import StopOnSignal


class SendSignal(pl.Callback):
    """Sends this process a signal in the middle of the fourth step, at its first batch."""

    def __init__(self) -> None:
        self.sent = False

    def on_before_backward(self, trainer: pl.Trainer, *_: Any) -> None:
        if trainer.global_step == 3 and not self.sent:
            self.sent = True
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("batches", [1, 3])
def test_the_step_is_finished_saved_and_logged(batches: int, tmp_path: Path) -> None:
    """A step takes several batches where gradients are accumulated."""
    before = signal.getsignal(signal.SIGTERM)
    stop = StopOnSignal()
    trainer = pl.Trainer(
        max_steps=20,
        log_every_n_steps=2,
        accumulate_grad_batches=batches,
        accelerator="cpu",
        devices=1,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=CSVLogger(tmp_path, name="", version="", flush_logs_every_n_steps=1),
        callbacks=[
            stop,
            SendSignal(),
            ModelCheckpoint(save_last=True, save_top_k=0),
            ModelCheckpoint(every_n_train_steps=4, save_top_k=-1, filename="every"),
        ],
    )
    loader: DataLoader[Any] = DataLoader(list(torch.ones(60, 1)), batch_size=1)  # type: ignore[arg-type]
    with pytest.raises(SystemExit):
        trainer.fit(Line(), loader)
    assert stop.received == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == before
    stored = torch.load(tmp_path / "checkpoints/last.ckpt", weights_only=True)
    assert stored["global_step"] == 4
    progress = stored["loops"]["fit_loop"]["epoch_loop.batch_progress"]["current"]
    assert progress["ready"] == 4 * batches
    due = torch.load(tmp_path / "checkpoints/every.ckpt", weights_only=True)  # at this very step
    assert due["global_step"] == 4
    with (tmp_path / "metrics.csv").open(newline="") as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["1", "3"]
