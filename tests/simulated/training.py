"""Trainers on the simulated device and on the host."""

from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.accelerators import Accelerator
from lightning.pytorch.strategies import SingleDeviceStrategy
from tests.simulated.device import DEVICE, no_waiting


class Simulated(Accelerator):
    """What Lightning asks about a kind of device."""

    def setup_device(self, device: torch.device) -> None:
        assert device == DEVICE

    def teardown(self) -> None:
        pass

    def get_device_stats(self, device: Any) -> dict[str, Any]:
        return {}

    @staticmethod
    def parse_devices(devices: Any) -> Any:
        return devices

    @staticmethod
    def get_parallel_devices(devices: Any) -> list[torch.device]:
        return [DEVICE]

    @staticmethod
    def auto_device_count() -> int:
        return 1

    @staticmethod
    def is_available() -> bool:
        return True

    @staticmethod
    def name() -> str:
        return "simulated"


class StepsWithoutWaiting(pl.Callback):
    """Refuses what makes the host wait from the moment that a batch has arrived to its update."""

    def on_train_batch_start(self, *_: Any) -> None:
        self.refusal = no_waiting()
        self.refusal.__enter__()

    def on_train_batch_end(self, *_: Any) -> None:
        self.refusal.__exit__(None, None, None)

    def on_exception(self, *_: Any) -> None:
        self.refusal.__exit__(None, None, None)


def trainer(device: torch.device, folder: Path, **settings: Any) -> pl.Trainer:
    """A quiet trainer.

    Args:
        device: Where it trains.
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
    if device.type == "cpu":
        place: dict[str, Any] = {"accelerator": "cpu", "devices": 1}
    else:
        place = {"strategy": SingleDeviceStrategy(device, accelerator=Simulated())}
    return pl.Trainer(**{**quiet, **place, **settings})
