"""The device under test: a CUDA card, or one made of Python."""

import os
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.strategies import SingleDeviceStrategy
from torch import Tensor

IS_SIMULATED = bool(os.environ.get("DISLAB_SIMULATED_DEVICE"))

if IS_SIMULATED:
    from tests.simulated import device as simulated
    from tests.simulated.accelerator import Simulated
    from tests.simulated.recording import SimulatedRecording

    from dislab.training.captured_step import RECORDINGS

    simulated.install()
    DEVICE = simulated.DEVICE
    RECORDINGS["sim"] = SimulatedRecording
else:
    DEVICE = torch.device("cuda", 0)

CLOSE: dict[str, Any] = {} if IS_SIMULATED else {"rtol": 1e-3, "atol": 1e-4}
"""How far a result in float32 may be from the host's: a card adds in another order."""


@contextmanager
def no_waiting() -> Iterator[None]:
    """Refuses what makes the host wait for the device."""
    if IS_SIMULATED:
        with simulated.no_waiting():
            yield
        return
    torch.cuda.synchronize()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the mode is a prototype
            torch.cuda.set_sync_debug_mode("error")
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


class StepsWithoutWaiting(pl.Callback):
    """Refuses what makes the host wait from the moment that a batch has arrived to its update.

    The first step is left out: its batch is checked, and optimisers and libraries are set up.
    """

    def __init__(self) -> None:
        self.refusal: AbstractContextManager[None] | None = None

    def on_train_batch_start(self, trainer: pl.Trainer, *_: Any) -> None:
        self.refusal = no_waiting() if trainer.global_step else None
        if self.refusal is not None:
            self.refusal.__enter__()

    def on_train_batch_end(self, *_: Any) -> None:
        self._leave()

    def on_exception(self, *_: Any) -> None:
        self._leave()

    def _leave(self) -> None:
        if self.refusal is not None:
            self.refusal.__exit__(None, None, None)
            self.refusal = None


def to_device(value: Any) -> Any:
    """Tensors on the device, in tuples, lists and dictionaries too.

    Args:
        value: Tensors on the host, or what holds them.
    """
    return torch.utils._pytree.tree_map_only(Tensor, lambda one: one.to(DEVICE), value)


def to_host(value: Any) -> Any:
    """Tensors on the host, in tuples, lists and dictionaries too.

    Args:
        value: Tensors on the device, or what holds them.
    """
    return torch.utils._pytree.tree_map_only(Tensor, lambda one: one.detach().cpu(), value)


def trainer(device: torch.device, folder: Path, **settings: Any) -> pl.Trainer:
    """A quiet trainer.

    Args:
        device: Where it trains: the device under test, or the host.
        folder: Where it writes.
        settings: What else Lightning's has.
    """
    quiet: dict[str, Any] = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "default_root_dir": folder,
        "max_steps": 3,
        "num_sanity_val_steps": 0,
    }
    place: dict[str, Any] = {"accelerator": "cpu" if device.type == "cpu" else "gpu", "devices": 1}
    if IS_SIMULATED and device == DEVICE:
        place = {"strategy": SingleDeviceStrategy(device, accelerator=Simulated())}
    return pl.Trainer(**{**quiet, **place, **settings})
