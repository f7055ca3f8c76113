"""Trainers on the simulated device and on the host."""

from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.accelerators import Accelerator
from lightning.pytorch.strategies import SingleDeviceStrategy
from tests.simulated.device import DEVICE


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
